/* Correlation of M columns over N observations; deviations of integers are sums of magnitudes, without a square root. */
#include <stdlib.h>

#include "elements.h"

#if FLOAT_BITS
#define SPREAD(v) ((v) * (v))
#define DEVIATION(v) root(v)
#define SMALLEST SCALAR(0.1)
#define SCALE root(N)
#else
#define SPREAD(v) abs(v)
#define DEVIATION(v) (v)
#define SMALLEST 0
#define SCALE 1
#endif

#ifndef M
#define M 8
#endif
#ifndef N
#define N 10
#endif

void correlation(DATA_TYPE data[N][M], DATA_TYPE mean[M], DATA_TYPE deviation[M], DATA_TYPE corr[M][M])
{
#pragma scop
  for (int j = 0; j < M; j++) {
    mean[j] = 0;
    for (int i = 0; i < N; i++)
      mean[j] += data[i][j];
    mean[j] /= N;
  }
  for (int j = 0; j < M; j++) {
    deviation[j] = 0;
    for (int i = 0; i < N; i++)
      deviation[j] += SPREAD(data[i][j] - mean[j]);
    deviation[j] = DEVIATION(deviation[j] / N);
    deviation[j] = deviation[j] <= SMALLEST ? 1 : deviation[j];
  }
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) {
      data[i][j] -= mean[j];
      data[i][j] /= SCALE * deviation[j];
    }
  for (int i = 0; i < M - 1; i++) {
    corr[i][i] = 1;
    for (int j = i + 1; j < M; j++) {
      corr[i][j] = 0;
      for (int k = 0; k < N; k++)
        corr[i][j] += data[k][i] * data[k][j];
      corr[j][i] = corr[i][j];
    }
  }
  corr[M - 1][M - 1] = 1;
#pragma endscop
}
