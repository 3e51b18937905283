/* Forward substitution with a unit lower triangular matrix: L * x = b, modulo 2^32. */
#include <stdint.h>

#ifndef N
#define N 8
#endif

void triangular_solve(const int32_t L[N][N], const int32_t b[N], int32_t x[N])
{
#pragma scop
  for (int i = 0; i < N; i++) {
    x[i] = b[i];
    for (int j = 0; j < i; j++)
      x[i] -= L[i][j] * x[j];
  }
#pragma endscop
}
