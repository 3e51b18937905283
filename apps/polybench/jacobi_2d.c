/* Five-point means, from A to B and back. */
#include "elements.h"

#if FLOAT_BITS
#define MEAN(sum) (SCALAR(0.2) * (sum))
#else
#define MEAN(sum) ((sum) / 5)
#endif

#ifndef TSTEPS
#define TSTEPS 2
#endif
#ifndef N
#define N 8
#endif

void jacobi_2d(DATA_TYPE A[N][N], DATA_TYPE B[N][N])
{
#pragma scop
  for (int t = 0; t < TSTEPS; t++) {
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        B[i][j] = MEAN(A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j] + A[i - 1][j]);
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        A[i][j] = MEAN(B[i][j] + B[i][j - 1] + B[i][j + 1] + B[i + 1][j] + B[i - 1][j]);
  }
#pragma endscop
}
