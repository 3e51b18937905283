/* Matricised tensor times Khatri-Rao product: D[i][j] = sum over k, l of A[i][k][l] * B[k][j] * C[l][j]. */
#include "types.h"

#ifndef I
#define I 8
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

void mttkrp(const data_t A[I][K][L], const data_t B[K][J], const data_t C[L][J], sum_t D[I][J])
{
#pragma scop
  for (int i = 0; i < I; i++)
    for (int j = 0; j < J; j++) {
      D[i][j] = 0;
      for (int k = 0; k < K; k++)
        for (int l = 0; l < L; l++)
          D[i][j] += (sum_t)A[i][k][l] * B[k][j] * C[l][j];
    }
#pragma endscop
}
