/* Alternating-direction implicit integration, of integers in sixteenths. */
#include "elements.h"

#if FLOAT_BITS
#define ONE SCALAR(1.0)
#define NEXT_P(a, b, p) (-(a) / ((a) * (p) + (b)))
#define NEXT_Q(a, b, d, before, here, after, p, q) \
  ((-(d) * (before) + (SCALAR(1.0) + SCALAR(2.0) * (d)) * (here) - (d) * (after) - (a) * (q)) / ((a) * (p) + (b)))
#else
#define ONE 16
#define NEXT_P(a, b, p) (-48 / nonzero(3 * (p) + 19))
#define NEXT_Q(a, b, d, before, here, after, p, q) \
  ((3 * (before) + 10 * (here) + 3 * (after) + 3 * (q)) / nonzero(3 * (p) + 19))
#endif

#ifndef TSTEPS
#define TSTEPS 2
#endif
#ifndef N
#define N 8
#endif

void adi(DATA_TYPE u[N][N], DATA_TYPE v[N][N], DATA_TYPE p[N][N], DATA_TYPE q[N][N])
{
#pragma scop
#if FLOAT_BITS
  DATA_TYPE mul1 = SCALAR(2.0) * (SCALAR(1.0) / SCALAR(TSTEPS)) / (SCALAR(1.0) / SCALAR(N) * (SCALAR(1.0) / SCALAR(N)));
  DATA_TYPE mul2 = SCALAR(1.0) * (SCALAR(1.0) / SCALAR(TSTEPS)) / (SCALAR(1.0) / SCALAR(N) * (SCALAR(1.0) / SCALAR(N)));
  DATA_TYPE a = -mul1 / SCALAR(2.0);
  DATA_TYPE b = SCALAR(1.0) + mul1;
  DATA_TYPE d = -mul2 / SCALAR(2.0);
  DATA_TYPE e = SCALAR(1.0) + mul2;
#endif
  for (int t = 1; t <= TSTEPS; t++) {
    for (int i = 1; i < N - 1; i++) {
      v[0][i] = ONE;
      p[i][0] = 0;
      q[i][0] = v[0][i];
      for (int j = 1; j < N - 1; j++) {
        p[i][j] = NEXT_P(a, b, p[i][j - 1]);
        q[i][j] = NEXT_Q(a, b, d, u[j][i - 1], u[j][i], u[j][i + 1], p[i][j - 1], q[i][j - 1]);
      }
      v[N - 1][i] = ONE;
      for (int j = N - 2; j >= 1; j--)
        v[j][i] = p[i][j] * v[j + 1][i] + q[i][j];
    }
    for (int i = 1; i < N - 1; i++) {
      u[i][0] = ONE;
      p[i][0] = 0;
      q[i][0] = u[i][0];
      for (int j = 1; j < N - 1; j++) {
        p[i][j] = NEXT_P(d, e, p[i][j - 1]);
        q[i][j] = NEXT_Q(d, e, a, v[i - 1][j], v[i][j], v[i + 1][j], p[i][j - 1], q[i][j - 1]);
      }
      u[i][N - 1] = ONE;
      for (int j = N - 2; j >= 1; j--)
        u[i][j] = p[i][j] * u[i][j + 1] + q[i][j];
    }
  }
#pragma endscop
}
