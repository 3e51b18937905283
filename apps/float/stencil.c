/* Three-point stencil in single precision, limited to a range: comparisons and a conversion too. */
#include <stdint.h>

#ifndef N
#define N 64
#endif

void stencil(const float x[N], const int16_t gain[N - 2], float y[N - 2])
{
#pragma scop
  for (int i = 0; i < N - 2; i++) {
    float value = gain[i] * (0.25f * x[i] + 0.5f * x[i + 1] + 0.25f * x[i + 2]);
    y[i] = value < -100.0f ? -100.0f : value > 100.0f ? 100.0f : value;
  }
#pragma endscop
}
