/* C = alpha (A Bt + B At) + beta C, lower triangle. */
#include "elements.h"

#ifndef M
#define M 7
#endif
#ifndef N
#define N 8
#endif

void syr2k(DATA_TYPE alpha, DATA_TYPE beta, DATA_TYPE C[N][N], const DATA_TYPE A[N][M], const DATA_TYPE B[N][M])
{
#pragma scop
  for (int i = 0; i < N; i++) {
    for (int j = 0; j <= i; j++)
      C[i][j] *= beta;
    for (int k = 0; k < M; k++)
      for (int j = 0; j <= i; j++)
        C[i][j] += A[j][k] * alpha * B[i][k] + B[j][k] * alpha * A[i][k];
  }
#pragma endscop
}
