/* Gauss-Seidel sweeps over a grid of N x N points whose border keeps its values. */
#include <stdint.h>

#ifndef N
#define N 8
#endif
#ifndef T
#define T 3
#endif

void seidel(int32_t a[N][N])
{
#pragma scop
  for (int t = 0; t < T; t++)
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        a[i][j] = (a[i - 1][j] + a[i][j - 1] + a[i][j] + a[i][j + 1] + a[i + 1][j]) / 5;
#pragma endscop
}
