/* Jacobi relaxation of N points, T steps; the two ends keep their values. */
#include <stdint.h>

#ifndef N
#define N 20
#endif
#ifndef T
#define T 4
#endif

void jacobi_1d(int16_t a[N])
{
  int16_t b[N];

#pragma scop
  for (int t = 0; t < T; t++) {
    for (int i = 1; i < N - 1; i++)
      b[i] = (a[i - 1] + 2 * a[i] + a[i + 1]) >> 2;
    for (int i = 1; i < N - 1; i++)
      a[i] = b[i];
  }
#pragma endscop
}
