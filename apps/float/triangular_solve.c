/* Forward substitution in single precision: L * x = b, a division for every unknown. */

#ifndef N
#define N 8
#endif

void triangular_solve(const float L[N][N], const float b[N], float x[N])
{
#pragma scop
  for (int i = 0; i < N; i++) {
    x[i] = b[i];
    for (int j = 0; j < i; j++)
      x[i] -= L[i][j] * x[j];
    x[i] = x[i] / L[i][i];
  }
#pragma endscop
}
