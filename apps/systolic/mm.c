/* Matrix product, C = A * B: the running example of the seed. */
#include "types.h"

#ifndef I
#define I 16
#endif
#ifndef J
#define J 16
#endif
#ifndef K
#define K 16
#endif

void mm(const data_t A[I][K], const data_t B[K][J], sum_t C[I][J])
{
#pragma scop
  for (int i = 0; i < I; i++)
    for (int j = 0; j < J; j++) {
      C[i][j] = 0;
      for (int k = 0; k < K; k++)
        C[i][j] += (sum_t)A[i][k] * B[k][j];
    }
#pragma endscop
}
