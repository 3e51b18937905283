/* C = alpha A B + beta C. */
#include "elements.h"

#ifndef NI
#define NI 8
#endif
#ifndef NJ
#define NJ 9
#endif
#ifndef NK
#define NK 10
#endif

void gemm(DATA_TYPE alpha, DATA_TYPE beta, DATA_TYPE C[NI][NJ], const DATA_TYPE A[NI][NK], const DATA_TYPE B[NK][NJ])
{
#pragma scop
  for (int i = 0; i < NI; i++) {
    for (int j = 0; j < NJ; j++)
      C[i][j] *= beta;
    for (int k = 0; k < NK; k++)
      for (int j = 0; j < NJ; j++)
        C[i][j] += alpha * A[i][k] * B[k][j];
  }
#pragma endscop
}
