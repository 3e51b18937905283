/* FIR filter in single precision or bfloat16 with TAPS coefficients that come with the data: y[n] is the sum over k of
 * h[k] * x[n + k].
 */

#include "types.h"

#ifndef N
#define N 48
#endif
#ifndef TAPS
#define TAPS 8
#endif

void fir(const real_t h[TAPS], const real_t x[N], real_t y[N - TAPS + 1])
{
#pragma scop
  for (int n = 0; n < N - TAPS + 1; n++) {
    y[n] = 0;
    for (int k = 0; k < TAPS; k++)
      y[n] += h[k] * x[n + k];
  }
#pragma endscop
}
