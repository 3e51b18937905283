/* Twice the image, then means of 2 x 2 pixels. Words of 16 bits wrap, here and in the other files. */
#include <stdint.h>

void brighten_blur(const uint16_t in[TILES][SIZE][SIZE], uint16_t out[TILES][SIZE - 1][SIZE - 1])
{
  for (int t = 0; t < TILES; t++)
    for (int y = 0; y < SIZE - 1; y++)
      for (int x = 0; x < SIZE - 1; x++) {
        uint16_t sum = 0;
        for (int k = 0; k < 4; k++)
          sum += 2 * in[t][y + k / 2][x + k % 2];
        out[t][y][x] = sum / 4;
      }
}
