/* FIR filter as a recurrence: partial sums travel from tap to tap. */
#include <stdint.h>

#ifndef N
#define N 24
#endif
#ifndef TAPS
#define TAPS 5
#endif

void fir_recurrence(const int16_t h[TAPS], const int16_t x[N + TAPS], int32_t y[N])
{
#pragma scop
  for (int n = 0; n < N; n++) {
    y[n] = 0;
    for (int k = 0; k < TAPS; k++)
      y[n] += h[k] * x[n + k];
  }
#pragma endscop
}
