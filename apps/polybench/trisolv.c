/* Forward substitution. */
#include "elements.h"

#ifndef N
#define N 8
#endif

void trisolv(const DATA_TYPE L[N][N], DATA_TYPE x[N], const DATA_TYPE b[N])
{
#pragma scop
  for (int i = 0; i < N; i++) {
    x[i] = b[i];
    for (int j = 0; j < i; j++)
      x[i] -= L[i][j] * x[j];
    x[i] = x[i] / nonzero(L[i][i]);
  }
#pragma endscop
}
