/* Covariance of M columns over N observations. */
#include "elements.h"

#ifndef M
#define M 8
#endif
#ifndef N
#define N 10
#endif

void covariance(DATA_TYPE data[N][M], DATA_TYPE mean[M], DATA_TYPE cov[M][M])
{
#pragma scop
  for (int j = 0; j < M; j++) {
    mean[j] = 0;
    for (int i = 0; i < N; i++)
      mean[j] += data[i][j];
    mean[j] /= N;
  }
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++)
      data[i][j] -= mean[j];
  for (int i = 0; i < M; i++)
    for (int j = i; j < M; j++) {
      cov[i][j] = 0;
      for (int k = 0; k < N; k++)
        cov[i][j] += data[k][i] * data[k][j];
      cov[i][j] /= N - 1;
      cov[j][i] = cov[i][j];
    }
#pragma endscop
}
