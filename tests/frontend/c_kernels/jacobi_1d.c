#define TSTEPS 3
#define N 12
void jacobi_1d(int A[N], int B[N]) {
  int t, i;
#pragma scop
  for (t = 0; t < TSTEPS; t++) {
    for (i = 1; i < N - 1; i++)
      B[i] = (A[i-1] + A[i] + A[i+1]) / 3;
    for (i = 1; i < N - 1; i++)
      A[i] = (B[i-1] + B[i] + B[i + 1]) / 3;
  }
#pragma endscop
}
