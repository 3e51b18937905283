/* LU decomposition in place, without pivoting, as PolyBench has it; integers, division rounds towards zero. With
   FLOAT_BITS 32 or 64 in float or double. */
#include <stdint.h>

#ifndef N
#define N 12
#endif
#ifndef FLOAT_BITS
#define FLOAT_BITS 0
#endif
#if FLOAT_BITS == 32
#define DATA_TYPE float
#elif FLOAT_BITS == 64
#define DATA_TYPE double
#endif
#ifndef DATA_TYPE
#define DATA_TYPE int32_t
#endif

void lu(DATA_TYPE A[N][N])
{
#pragma scop
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < i; j++) {
      for (int k = 0; k < j; k++)
        A[i][j] -= A[i][k] * A[k][j];
      A[i][j] /= A[j][j];
    }
    for (int j = i; j < N; j++)
      for (int k = 0; k < i; k++)
        A[i][j] -= A[i][k] * A[k][j];
  }
#pragma endscop
}
