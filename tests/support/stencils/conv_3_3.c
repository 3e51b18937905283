/* A convolution with unequal weights. */
#include <stdint.h>

void conv_3_3(const uint16_t in[HEIGHT][WIDTH], uint16_t out[HEIGHT - 2][WIDTH - 2])
{
  static const int weights[3][3] = {{11, 14, 17}, {12, 0, 18}, {13, 16, 19}};
  for (int y = 0; y < HEIGHT - 2; y++)
    for (int x = 0; x < WIDTH - 2; x++) {
      out[y][x] = 0;
      for (int k = 0; k < 9; k++)
        out[y][x] += weights[k / 3][k % 3] * in[y + k / 3][x + k % 3];
    }
}
