/* Inner product of two vectors of N elements: one sum that every step waits for. */
#include <stdint.h>

#ifndef N
#define N 64
#endif

void inner_product(const int16_t a[N], const int16_t b[N], int32_t c[1])
{
#pragma scop
  c[0] = 0;
  for (int i = 0; i < N; i++)
    c[0] += a[i] * b[i];
#pragma endscop
}
