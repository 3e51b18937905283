/* Every pixel four times. */
#include <stdint.h>

void upsample(const uint16_t in[HEIGHT][WIDTH], uint16_t out[2 * HEIGHT][2 * WIDTH])
{
  for (int y = 0; y < 2 * HEIGHT; y++)
    for (int x = 0; x < 2 * WIDTH; x++)
      out[y][x] = in[y / 2][x / 2];
}
