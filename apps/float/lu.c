/* LU decomposition in place, in single precision, without pivoting: L has a unit diagonal. */

#ifndef N
#define N 6
#endif

void lu(float a[N][N])
{
#pragma scop
  for (int k = 0; k < N; k++)
    for (int i = k + 1; i < N; i++) {
      a[i][k] = a[i][k] / a[k][k];
      for (int j = k + 1; j < N; j++)
        a[i][j] -= a[i][k] * a[k][j];
    }
#pragma endscop
}
