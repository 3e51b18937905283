/* Three-point means, from A to B and back. */
#include "elements.h"

#if FLOAT_BITS
#define MEAN(sum) (SCALAR(0.33333) * (sum))
#else
#define MEAN(sum) ((sum) / 3)
#endif

#ifndef TSTEPS
#define TSTEPS 3
#endif
#ifndef N
#define N 12
#endif

void jacobi_1d(DATA_TYPE A[N], DATA_TYPE B[N])
{
#pragma scop
  for (int t = 0; t < TSTEPS; t++) {
    for (int i = 1; i < N - 1; i++)
      B[i] = MEAN(A[i - 1] + A[i] + A[i + 1]);
    for (int i = 1; i < N - 1; i++)
      A[i] = MEAN(B[i - 1] + B[i] + B[i + 1]);
  }
#pragma endscop
}
