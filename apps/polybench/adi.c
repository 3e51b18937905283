/* Alternating-direction implicit integration, in sixteenths. */
#include "integers.h"

#ifndef TSTEPS
#define TSTEPS 2
#endif
#ifndef N
#define N 8
#endif

void adi(DATA_TYPE u[N][N], DATA_TYPE v[N][N], DATA_TYPE p[N][N], DATA_TYPE q[N][N])
{
#pragma scop
  for (int t = 1; t <= TSTEPS; t++) {
    for (int i = 1; i < N - 1; i++) {
      v[0][i] = 16;
      p[i][0] = 0;
      q[i][0] = v[0][i];
      for (int j = 1; j < N - 1; j++) {
        p[i][j] = -48 / nonzero(3 * p[i][j - 1] + 19);
        q[i][j] = (3 * u[j][i - 1] + 10 * u[j][i] + 3 * u[j][i + 1] + 3 * q[i][j - 1]) / nonzero(3 * p[i][j - 1] + 19);
      }
      v[N - 1][i] = 16;
      for (int j = N - 2; j >= 1; j--)
        v[j][i] = p[i][j] * v[j + 1][i] + q[i][j];
    }
    for (int i = 1; i < N - 1; i++) {
      u[i][0] = 16;
      p[i][0] = 0;
      q[i][0] = u[i][0];
      for (int j = 1; j < N - 1; j++) {
        p[i][j] = -48 / nonzero(3 * p[i][j - 1] + 19);
        q[i][j] = (3 * v[i - 1][j] + 10 * v[i][j] + 3 * v[i + 1][j] + 3 * q[i][j - 1]) / nonzero(3 * p[i][j - 1] + 19);
      }
      u[i][N - 1] = 16;
      for (int j = N - 2; j >= 1; j--)
        u[i][j] = p[i][j] * u[i][j + 1] + q[i][j];
    }
  }
#pragma endscop
}
