/* Toeplitz system by Durbin's recursion. */
#include "elements.h"

#ifndef N
#define N 8
#endif

void durbin(const DATA_TYPE r[N], DATA_TYPE y[N])
{
#pragma scop
  DATA_TYPE z[N];
  DATA_TYPE alpha, beta, sum;
  y[0] = -r[0];
  beta = 1;
  alpha = -r[0];
  for (int k = 1; k < N; k++) {
    beta = (1 - alpha * alpha) * beta;
    sum = 0;
    for (int i = 0; i < k; i++)
      sum += r[k - i - 1] * y[i];
    alpha = -(r[k] + sum) / nonzero(beta);
    for (int i = 0; i < k; i++)
      z[i] = y[i] + alpha * y[k - i - 1];
    for (int i = 0; i < k; i++)
      y[i] = z[i];
    y[k] = alpha;
  }
#pragma endscop
}
