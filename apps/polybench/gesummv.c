/* y = alpha A x + beta B x. */
#include "elements.h"

#ifndef N
#define N 8
#endif

void gesummv(DATA_TYPE alpha, DATA_TYPE beta, const DATA_TYPE A[N][N], const DATA_TYPE B[N][N], DATA_TYPE t[N], const DATA_TYPE x[N], DATA_TYPE y[N])
{
#pragma scop
  for (int i = 0; i < N; i++) {
    t[i] = 0;
    y[i] = 0;
    for (int j = 0; j < N; j++) {
      t[i] = A[i][j] * x[j] + t[i];
      y[i] = B[i][j] * x[j] + y[i];
    }
    y[i] = alpha * t[i] + beta * y[i];
  }
#pragma endscop
}
