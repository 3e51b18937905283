/* Harris corner detector, in one pass over windows that are computed again for every pixel. */
#include <stdint.h>

typedef const int16_t image[HEIGHT][WIDTH];

static int16_t limited(int16_t value)
{
  return value < -255 ? -255 : value > 255 ? 255 : value;
}

static int16_t gradient(image in, int y, int x, int across)
{
  int16_t sum = 0;
  for (int k = 0; k < 3; k++) {
    int weight = k == 1 ? 2 : 1;
    sum += across ? weight * (in[y + k][x + 2] - in[y + k][x]) : weight * (in[y + 2][x + k] - in[y][x + k]);
  }
  return limited(sum);
}

static int16_t response(image in, int y, int x)
{
  int16_t xx = 0, xy = 0, yy = 0;
  for (int k = 0; k < 9; k++) {
    int gx = gradient(in, y + k / 3, x + k % 3, 1), gy = gradient(in, y + k / 3, x + k % 3, 0);
    xx += (int16_t)(gx * gx) >> 7;
    xy += (int16_t)(gx * gy) >> 7;
    yy += (int16_t)(gy * gy) >> 7;
  }
  int a = xx >> 6, b = yy >> 6, c = xy >> 6;
  return a * b - c * c - ((int16_t)((a + b) * (a + b)) >> 4);
}

void harris(image in, int16_t out[HEIGHT - 6][WIDTH - 6])
{
  for (int y = 0; y < HEIGHT - 6; y++)
    for (int x = 0; x < WIDTH - 6; x++) {
      int16_t centre = response(in, y + 1, x + 1);
      int corner = centre >= 1;
      for (int k = 0; k < 9; k++)
        if (k != 4 && response(in, y + k / 3, x + k % 3) >= centre)
          corner = 0;
      out[y][x] = corner ? 255 : 0;
    }
}
