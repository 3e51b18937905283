/* y = At A x. */
#include "elements.h"

#ifndef M
#define M 8
#endif
#ifndef N
#define N 9
#endif

void atax(const DATA_TYPE A[M][N], const DATA_TYPE x[N], DATA_TYPE y[N], DATA_TYPE t[M])
{
#pragma scop
  for (int i = 0; i < N; i++)
    y[i] = 0;
  for (int i = 0; i < M; i++) {
    t[i] = 0;
    for (int j = 0; j < N; j++)
      t[i] = t[i] + A[i][j] * x[j];
    for (int j = 0; j < N; j++)
      y[j] = y[j] + A[i][j] * t[i];
  }
#pragma endscop
}
