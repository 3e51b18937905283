/* Shortest paths between all nodes, in place. */
#include "elements.h"

#ifndef N
#define N 8
#endif

void floyd_warshall(DATA_TYPE path[N][N])
{
#pragma scop
  for (int k = 0; k < N; k++)
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++)
        path[i][j] = path[i][j] < path[i][k] + path[k][j] ? path[i][j] : path[i][k] + path[k][j];
#pragma endscop
}
