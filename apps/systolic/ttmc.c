/* Chain of tensor-matrix products: D[i][j][k] = sum over l, m of A[i][l][m] * B[l][j] * C[m][k]. */
#include "types.h"

#ifndef I
#define I 8
#endif
#ifndef J
#define J 8
#endif
#ifndef K
#define K 4
#endif
#ifndef L
#define L 4
#endif
#ifndef M
#define M 8
#endif

void ttmc(const data_t A[I][L][M], const data_t B[L][J], const data_t C[M][K], sum_t D[I][J][K])
{
#pragma scop
  for (int i = 0; i < I; i++)
    for (int j = 0; j < J; j++)
      for (int k = 0; k < K; k++) {
        D[i][j][k] = 0;
        for (int l = 0; l < L; l++)
          for (int m = 0; m < M; m++)
            D[i][j][k] += (sum_t)A[i][l][m] * B[l][j] * C[m][k];
      }
#pragma endscop
}
