/* LU decomposition, then forward and backward substitution. */
#include "elements.h"

#ifndef N
#define N 8
#endif

void ludcmp(DATA_TYPE A[N][N], const DATA_TYPE b[N], DATA_TYPE x[N], DATA_TYPE y[N])
{
#pragma scop
  DATA_TYPE w;
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < i; j++) {
      w = A[i][j];
      for (int k = 0; k < j; k++)
        w -= A[i][k] * A[k][j];
      A[i][j] = w / nonzero(A[j][j]);
    }
    for (int j = i; j < N; j++) {
      w = A[i][j];
      for (int k = 0; k < i; k++)
        w -= A[i][k] * A[k][j];
      A[i][j] = w;
    }
  }
  for (int i = 0; i < N; i++) {
    w = b[i];
    for (int j = 0; j < i; j++)
      w -= A[i][j] * y[j];
    y[i] = w;
  }
  for (int i = N - 1; i >= 0; i--) {
    w = y[i];
    for (int j = i + 1; j < N; j++)
      w -= A[i][j] * x[j];
    x[i] = w / nonzero(A[i][i]);
  }
#pragma endscop
}
