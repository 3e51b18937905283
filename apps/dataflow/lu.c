/* LU decomposition in place, without pivoting, modulo 2^16, for matrices whose pivots are given by their inverses:
 * inverse[k] stands for 1 / a[k][k], so that all arithmetic is exact in a ring.
 */
#include <stdint.h>

#ifndef N
#define N 6
#endif

void lu(const int16_t inverse[N], int16_t a[N][N])
{
#pragma scop
  for (int k = 0; k < N; k++)
    for (int i = k + 1; i < N; i++) {
      a[i][k] = a[i][k] * inverse[k];
      for (int j = k + 1; j < N; j++)
        a[i][j] -= a[i][k] * a[k][j];
    }
#pragma endscop
}
