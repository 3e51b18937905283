/* s = At r and q = A p. */
#include "elements.h"

#ifndef M
#define M 8
#endif
#ifndef N
#define N 9
#endif

void bicg(const DATA_TYPE A[N][M], DATA_TYPE s[M], DATA_TYPE q[N], const DATA_TYPE p[M], const DATA_TYPE r[N])
{
#pragma scop
  for (int i = 0; i < M; i++)
    s[i] = 0;
  for (int i = 0; i < N; i++) {
    q[i] = 0;
    for (int j = 0; j < M; j++) {
      s[j] = s[j] + r[i] * A[i][j];
      q[i] = q[i] + A[i][j] * p[j];
    }
  }
#pragma endscop
}
