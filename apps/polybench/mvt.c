/* x1 += A y1 and x2 += At y2. */
#include "elements.h"

#ifndef N
#define N 8
#endif

void mvt(DATA_TYPE x1[N], DATA_TYPE x2[N], const DATA_TYPE y1[N], const DATA_TYPE y2[N], const DATA_TYPE A[N][N])
{
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      x1[i] = x1[i] + A[i][j] * y1[j];
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      x2[i] = x2[i] + A[j][i] * y2[j];
#pragma endscop
}
