/* B = alpha At B, A unit lower triangular. */
#include "elements.h"

#ifndef M
#define M 7
#endif
#ifndef N
#define N 8
#endif

void trmm(DATA_TYPE alpha, const DATA_TYPE A[M][M], DATA_TYPE B[M][N])
{
#pragma scop
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      for (int k = i + 1; k < M; k++)
        B[i][j] += A[k][i] * B[k][j];
      B[i][j] = alpha * B[i][j];
    }
#pragma endscop
}
