/* Heat in three dimensions, from A to B and back. */
#include "integers.h"

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
          B[i][j][k] = ((A[i + 1][j][k] - 2 * A[i][j][k] + A[i - 1][j][k]) >> 3) + ((A[i][j + 1][k] - 2 * A[i][j][k] + A[i][j - 1][k]) >> 3)
                       + ((A[i][j][k + 1] - 2 * A[i][j][k] + A[i][j][k - 1]) >> 3) + A[i][j][k];
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        for (int k = 1; k < N - 1; k++)
          A[i][j][k] = ((B[i + 1][j][k] - 2 * B[i][j][k] + B[i - 1][j][k]) >> 3) + ((B[i][j + 1][k] - 2 * B[i][j][k] + B[i][j - 1][k]) >> 3)
                       + ((B[i][j][k + 1] - 2 * B[i][j][k] + B[i][j][k - 1]) >> 3) + B[i][j][k];
  }
#pragma endscop
}
