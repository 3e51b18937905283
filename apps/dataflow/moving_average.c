/* Moving sum of three samples, in thirds: 3 * average. Only windows inside the N samples are computed. */
#include <stdint.h>

#ifndef N
#define N 64
#endif

void moving_average(const int16_t x[N], int16_t y[N - 2])
{
#pragma scop
  for (int i = 0; i < N - 2; i++)
    y[i] = x[i] + x[i + 1] + x[i + 2];
#pragma endscop
}
