/* Two-dimensional FIR filter in single precision or bfloat16 with TAPS x TAPS coefficients that come with the data. */

#include "types.h"

#ifndef N
#define N 32
#endif
#ifndef TAPS
#define TAPS 4
#endif

void fir2d(const real_t h[TAPS][TAPS], const real_t x[N + TAPS - 1][N + TAPS - 1], real_t y[N][N])
{
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      y[i][j] = 0;
      for (int k = 0; k < TAPS; k++)
        for (int l = 0; l < TAPS; l++)
          y[i][j] += h[k][l] * x[i + k][j + l];
    }
#pragma endscop
}
