/* Three-point stencil: 1, 2, 1 over four, rounded. */
#include <stdint.h>

#ifndef N
#define N 64
#endif

void stencil_3(const int16_t x[N], int16_t y[N - 2])
{
#pragma scop
  for (int i = 0; i < N - 2; i++)
    y[i] = (x[i] + 2 * x[i + 1] + x[i + 2] + 2) >> 2;
#pragma endscop
}
