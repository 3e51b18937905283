/* FIR filter in single precision with TAPS coefficients that come with the data: y[n] = sum over k of h[k] * x[n + k]. */

#ifndef N
#define N 48
#endif
#ifndef TAPS
#define TAPS 8
#endif

void fir(const float h[TAPS], const float x[N], float y[N - TAPS + 1])
{
#pragma scop
  for (int n = 0; n < N - TAPS + 1; n++) {
    y[n] = 0.0f;
    for (int k = 0; k < TAPS; k++)
      y[n] += h[k] * x[n + k];
  }
#pragma endscop
}
