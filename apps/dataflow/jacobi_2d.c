/* Jacobi relaxation of N x N points, T steps; the border keeps its values. */
#include <stdint.h>

#ifndef N
#define N 8
#endif
#ifndef T
#define T 2
#endif

void jacobi_2d(int16_t a[N][N])
{
  int16_t b[N][N];

#pragma scop
  for (int t = 0; t < T; t++) {
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        b[i][j] = (4 * a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]) >> 3;
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        a[i][j] = b[i][j];
  }
#pragma endscop
}
