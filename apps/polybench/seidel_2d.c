/* Nine-point means in place. */
#include "elements.h"

#ifndef TSTEPS
#define TSTEPS 2
#endif
#ifndef N
#define N 8
#endif

void seidel_2d(DATA_TYPE A[N][N])
{
#pragma scop
  for (int t = 0; t < TSTEPS; t++)
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        A[i][j] = (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1] + A[i][j - 1] + A[i][j] + A[i][j + 1]
                   + A[i + 1][j - 1] + A[i + 1][j] + A[i + 1][j + 1]) / 9;
#pragma endscop
}
