/* Product of a lower triangular matrix and a matrix. */
#include "types.h"

#ifndef N
#define N 12
#endif
#ifndef M
#define M 8
#endif

void trmm(const data_t A[N][N], const data_t B[N][M], sum_t C[N][M])
{
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) {
      C[i][j] = 0;
      for (int k = 0; k <= i; k++)
        C[i][j] += (sum_t)A[i][k] * B[k][j];
    }
#pragma endscop
}
