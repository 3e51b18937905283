/* Jacobi relaxation of N points in single precision, T steps; the two ends keep their values. */

#ifndef N
#define N 40
#endif
#ifndef T
#define T 3
#endif

void jacobi(float a[N])
{
  float b[N];

#pragma scop
  for (int t = 0; t < T; t++) {
    for (int i = 1; i < N - 1; i++)
      b[i] = 0.33333f * (a[i - 1] + a[i] + a[i + 1]);
    for (int i = 1; i < N - 1; i++)
      a[i] = b[i];
  }
#pragma endscop
}
