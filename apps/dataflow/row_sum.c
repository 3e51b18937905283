/* The sum of every row of an N x M matrix, scaled by a number that is read once. */
#include <stdint.h>

#ifndef N
#define N 12
#endif
#ifndef M
#define M 10
#endif

void row_sum(const int16_t scale[1], const int16_t A[N][M], int32_t y[N])
{
  int32_t factor;

#pragma scop
  factor = scale[0];
  for (int i = 0; i < N; i++) {
    y[i] = 0;
    for (int j = 0; j < M; j++)
      y[i] += factor * A[i][j];
  }
#pragma endscop
}
