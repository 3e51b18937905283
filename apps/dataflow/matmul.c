/* Matrix product: C = A * B, N x N.
 *
 * N*N*N multiplications; the dataflow target does one per tick and lane, however deep the adder is.
 */
#include <stdint.h>

#ifndef N
#define N 16
#endif

void matmul(const int16_t A[N][N], const int16_t B[N][N], int16_t C[N][N])
{
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      C[i][j] = 0;
      for (int k = 0; k < N; k++)
        C[i][j] += A[i][k] * B[k][j];
    }
#pragma endscop
}
