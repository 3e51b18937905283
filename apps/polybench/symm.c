/* C = alpha A B + beta C, A symmetric and stored in its lower triangle. */
#include "elements.h"

#ifndef M
#define M 7
#endif
#ifndef N
#define N 8
#endif

void symm(DATA_TYPE alpha, DATA_TYPE beta, DATA_TYPE C[M][N], const DATA_TYPE A[M][M], const DATA_TYPE B[M][N])
{
#pragma scop
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      DATA_TYPE t = 0;
      for (int k = 0; k < i; k++) {
        C[k][j] += alpha * B[i][j] * A[i][k];
        t += B[k][j] * A[i][k];
      }
      C[i][j] = beta * C[i][j] + alpha * B[i][j] * A[i][i] + alpha * t;
    }
#pragma endscop
}
