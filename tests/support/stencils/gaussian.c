/* Gaussian blur; the weights sum to 253. */
#include <stdint.h>

void gaussian(const uint16_t in[HEIGHT][WIDTH], uint16_t out[HEIGHT - 2][WIDTH - 2])
{
  for (int y = 0; y < HEIGHT - 2; y++)
    for (int x = 0; x < WIDTH - 2; x++) {
      const uint16_t *a = &in[y][x], *b = &in[y + 1][x], *c = &in[y + 2][x];
      uint16_t sum = 24 * (a[0] + a[2] + c[0] + c[2]) + 30 * (a[1] + b[0] + b[2] + c[1]) + 37 * b[1];
      out[y][x] = sum >> 8;
    }
}
