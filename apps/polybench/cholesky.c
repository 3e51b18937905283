/* Cholesky's decomposition in place. */
#include "elements.h"

#ifndef N
#define N 8
#endif

void cholesky(DATA_TYPE A[N][N])
{
#pragma scop
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < i; j++) {
      for (int k = 0; k < j; k++)
        A[i][j] -= A[i][k] * A[j][k];
      A[i][j] /= nonzero(A[j][j]);
    }
    for (int k = 0; k < i; k++)
      A[i][i] -= A[i][k] * A[i][k];
    A[i][i] = root(A[i][i]);
  }
#pragma endscop
}
