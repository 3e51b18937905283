/* Tensor times matrix: C[i][j][k] = sum over l of A[i][j][l] * B[l][k]. */
#include "types.h"

#ifndef I
#define I 6
#endif
#ifndef J
#define J 8
#endif
#ifndef K
#define K 8
#endif
#ifndef L
#define L 8
#endif

void ttm(const data_t A[I][J][L], const data_t B[L][K], sum_t C[I][J][K])
{
#pragma scop
  for (int i = 0; i < I; i++)
    for (int j = 0; j < J; j++)
      for (int k = 0; k < K; k++) {
        C[i][j][k] = 0;
        for (int l = 0; l < L; l++)
          C[i][j][k] += (sum_t)A[i][j][l] * B[l][k];
      }
#pragma endscop
}
