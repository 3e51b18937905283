/* C = BETA * C + ALPHA * A * B, the output scaled in place before the sums. */
#include "types.h"

#ifndef I
#define I 12
#endif
#ifndef J
#define J 10
#endif
#ifndef K
#define K 14
#endif
#define ALPHA 3
#define BETA 5

void gemm(sum_t C[I][J], const data_t A[I][K], const data_t B[K][J])
{
#pragma scop
  for (int i = 0; i < I; i++) {
    for (int j = 0; j < J; j++)
      C[i][j] *= BETA;
    for (int k = 0; k < K; k++)
      for (int j = 0; j < J; j++)
        C[i][j] += (sum_t)ALPHA * A[i][k] * B[k][j];
  }
#pragma endscop
}
