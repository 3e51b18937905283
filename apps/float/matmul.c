/* Matrix product in single precision or bfloat16: C = A * B, N x N. Sums are added up in the order of the program; the
 * adder is as deep as it has to be, and so many sums take turns in it.
 */

#include "types.h"

#ifndef N
#define N 12
#endif

void matmul(const real_t A[N][N], const real_t B[N][N], real_t C[N][N])
{
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      real_t sum = 0;
      for (int k = 0; k < N; k++)
        sum += A[i][k] * B[k][j];
      C[i][j] = sum;
    }
#pragma endscop
}
