/* y = alpha * x + y in single precision. */

#ifndef N
#define N 1024
#endif

void saxpy(const float x[N], float y[N])
{
#pragma scop
  for (int i = 0; i < N; i++)
    y[i] = 2.5f * x[i] + y[i];
#pragma endscop
}
