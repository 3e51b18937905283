/* Unsharp mask with a 7 x 7 blur on a colour image. */
#include <stdint.h>

typedef const uint16_t image[3][HEIGHT][WIDTH];

static const int weights[7][7] = {
  {0, 1, 2, 2, 2, 1, 0}, {1, 3, 6, 7, 6, 3, 1}, {2, 6, 12, 15, 12, 6, 2}, {2, 7, 15, 18, 15, 7, 2},
  {2, 6, 12, 15, 12, 6, 2}, {1, 3, 6, 7, 6, 3, 1}, {0, 1, 2, 2, 2, 1, 0},
};

static uint16_t grey(image in, int y, int x)
{
  uint16_t sum = 77 * in[0][y][x] + 150 * in[1][y][x] + 29 * in[2][y][x];
  return sum >> 8;
}

void unsharp(image in, uint16_t out[3][HEIGHT - 6][WIDTH - 6])
{
  for (int y = 0; y < HEIGHT - 6; y++)
    for (int x = 0; x < WIDTH - 6; x++) {
      uint16_t sum = 0;
      for (int j = 0; j < 7; j++)
        for (int i = 0; i < 7; i++)
          sum += weights[j][i] * grey(in, y + j, x + i);
      int centre = grey(in, y + 3, x + 3), sharp = 2 * centre - ((sum >> 8) & 255);
      sharp = sharp < 0 ? 0 : sharp > 255 ? 255 : sharp;
      uint16_t ratio = sharp * (256 / (centre > 0 ? centre : 1));
      for (int c = 0; c < 3; c++)
        out[c][y][x] = ((uint32_t)ratio * in[c][y + 3][x + 3]) >> 8;
    }
}
