/* Two binomial blurs without scaling. */
#include <stdint.h>

static uint16_t binomial(int pitch, const uint16_t *at)
{
  static const int weights[3] = {1, 2, 1};
  uint16_t sum = 0;
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++)
      sum += weights[j] * weights[i] * at[j * pitch + i];
  return sum;
}

void cascade(const uint16_t in[HEIGHT][WIDTH], uint16_t out[HEIGHT - 4][WIDTH - 4])
{
  uint16_t once[HEIGHT - 2][WIDTH - 2];
  for (int y = 0; y < HEIGHT - 2; y++)
    for (int x = 0; x < WIDTH - 2; x++)
      once[y][x] = binomial(WIDTH, &in[y][x]);
  for (int y = 0; y < HEIGHT - 4; y++)
    for (int x = 0; x < WIDTH - 4; x++)
      out[y][x] = binomial(WIDTH - 2, &once[y][x]);
}
