/* Cholesky's decomposition in place. */
#include <stdint.h>

#ifndef N
#define N 8
#endif
#ifndef DATA_TYPE
#define DATA_TYPE int16_t
#endif

static inline DATA_TYPE root(DATA_TYPE v) { return (v < 0 ? -v : v) / 16 + 1; } /* in place of sqrt: integers */
static inline DATA_TYPE nonzero(DATA_TYPE v) { return v ? v : 1; }

void cholesky(DATA_TYPE A[N][N])
{
#pragma scop
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < i; j++) {
      for (int k = 0; k < j; k++)
        A[i][j] -= A[i][k] * A[j][k];
      A[i][j] /= nonzero(A[j][j]);
    }
    for (int k = 0; k < i; k++)
      A[i][i] -= A[i][k] * A[i][k];
    A[i][i] = root(A[i][i]);
  }
#pragma endscop
}
