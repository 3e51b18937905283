/* C = BETA * C + ALPHA * A * transpose(A) below the diagonal and on it: PolyBench's symmetric rank-k update. */
#include "types.h"

#ifndef N
#define N 10
#endif
#ifndef M
#define M 12
#endif
#define ALPHA 3
#define BETA 5

void syrk(sum_t C[N][N], const data_t A[N][M])
{
#pragma scop
  for (int i = 0; i < N; i++) {
    for (int j = 0; j <= i; j++)
      C[i][j] *= BETA;
    for (int k = 0; k < M; k++)
      for (int j = 0; j <= i; j++)
        C[i][j] += (sum_t)ALPHA * A[i][k] * A[j][k];
  }
#pragma endscop
}
