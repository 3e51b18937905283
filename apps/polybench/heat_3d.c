/* Heat in three dimensions, from A to B and back. */
#include "elements.h"

#if FLOAT_BITS
#define EIGHTH(v) (SCALAR(0.125) * (v))
#define TWO SCALAR(2.0)
#else
#define EIGHTH(v) ((v) >> 3)
#define TWO 2
#endif

#ifndef TSTEPS
#define TSTEPS 2
#endif
#ifndef N
#define N 6
#endif

void heat_3d(DATA_TYPE A[N][N][N], DATA_TYPE B[N][N][N])
{
#pragma scop
  for (int t = 1; t <= TSTEPS; t++) {
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        for (int k = 1; k < N - 1; k++)
          B[i][j][k] = EIGHTH(A[i + 1][j][k] - TWO * A[i][j][k] + A[i - 1][j][k]) + EIGHTH(A[i][j + 1][k] - TWO * A[i][j][k] + A[i][j - 1][k])
                       + EIGHTH(A[i][j][k + 1] - TWO * A[i][j][k] + A[i][j][k - 1]) + A[i][j][k];
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        for (int k = 1; k < N - 1; k++)
          A[i][j][k] = EIGHTH(B[i + 1][j][k] - TWO * B[i][j][k] + B[i - 1][j][k]) + EIGHTH(B[i][j + 1][k] - TWO * B[i][j][k] + B[i][j - 1][k])
                       + EIGHTH(B[i][j][k + 1] - TWO * B[i][j][k] + B[i][j][k - 1]) + B[i][j][k];
  }
#pragma endscop
}
