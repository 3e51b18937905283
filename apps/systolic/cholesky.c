/* Symmetric elimination without square roots: A = L D L', in place, lower triangle; division rounds towards zero. */
#include <stdint.h>

#ifndef N
#define N 8
#endif

void cholesky(int32_t A[N][N])
{
#pragma scop
  for (int k = 0; k < N; k++)
    for (int i = k + 1; i < N; i++) {
      for (int j = k + 1; j <= i; j++)
        A[i][j] -= A[i][k] * A[j][k] / A[k][k];
    }
#pragma endscop
}
