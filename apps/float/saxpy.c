/* y = alpha * x + y in single precision or bfloat16. */

#include "types.h"

#ifndef N
#define N 1024
#endif

void saxpy(const real_t x[N], real_t y[N])
{
#pragma scop
  for (int i = 0; i < N; i++)
    y[i] = (real_t)2.5f * x[i] + y[i];
#pragma endscop
}
