/* Matrix product with a scalar accumulator and a temporary, B given transposed, loops counted from 1. */
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

void mm_scalar(const data_t A[I][K], const data_t B[J][K], sum_t C[I][J])
{
#pragma scop
  for (int i = 1; i <= I; i++)
    for (int j = 1; j <= J; j++) {
      sum_t sum = 0;
      for (int k = 1; k <= K; k++) {
        sum_t product = (sum_t)A[i - 1][k - 1] * B[j - 1][k - 1];
        sum = sum + product;
      }
      C[i - 1][j - 1] = sum;
    }
#pragma endscop
}
