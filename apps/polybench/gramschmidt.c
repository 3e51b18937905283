/* Decomposition into Q and R by Gram and Schmidt's method. */
#include "elements.h"

#ifndef M
#define M 7
#endif
#ifndef N
#define N 6
#endif

void gramschmidt(DATA_TYPE A[M][N], DATA_TYPE R[N][N], DATA_TYPE Q[M][N])
{
#pragma scop
  for (int k = 0; k < N; k++) {
    DATA_TYPE norm = 0;
    for (int i = 0; i < M; i++)
      norm += A[i][k] * A[i][k];
    R[k][k] = root(norm);
    for (int i = 0; i < M; i++)
      Q[i][k] = A[i][k] / nonzero(R[k][k]);
    for (int j = k + 1; j < N; j++) {
      R[k][j] = 0;
      for (int i = 0; i < M; i++)
        R[k][j] += Q[i][k] * A[i][j];
      for (int i = 0; i < M; i++)
        A[i][j] = A[i][j] - Q[i][k] * R[k][j];
    }
  }
#pragma endscop
}
