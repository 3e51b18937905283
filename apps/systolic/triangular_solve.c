/* Forward substitution for several right-hand sides: L x = b, integers, division rounds towards zero. */
#include <stdint.h>

#ifndef N
#define N 8
#endif
#ifndef M
#define M 4
#endif

void triangular_solve(const int32_t L[N][N], int32_t x[N][M])
{
#pragma scop
  for (int i = 0; i < N; i++)
    for (int m = 0; m < M; m++) {
      for (int j = 0; j < i; j++)
        x[i][m] -= L[i][j] * x[j][m];
      x[i][m] /= L[i][i];
    }
#pragma endscop
}
