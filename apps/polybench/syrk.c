/* C = alpha A At + beta C, lower triangle. */
#include "elements.h"

#ifndef M
#define M 7
#endif
#ifndef N
#define N 8
#endif

void syrk(DATA_TYPE alpha, DATA_TYPE beta, DATA_TYPE C[N][N], const DATA_TYPE A[N][M])
{
#pragma scop
  for (int i = 0; i < N; i++) {
    for (int j = 0; j <= i; j++)
      C[i][j] *= beta;
    for (int k = 0; k < M; k++)
      for (int j = 0; j <= i; j++)
        C[i][j] += alpha * A[i][k] * A[j][k];
  }
#pragma endscop
}
