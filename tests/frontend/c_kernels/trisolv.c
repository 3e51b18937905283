#define N 7
void trisolv(int L[N][N], int x[N], int b[N]) {
  int i, j;
#pragma scop
  for (i = 0; i < N; i++) {
    x[i] = b[i];
    for (j = 0; j < i; j++)
      x[i] -= L[i][j] * x[j];
    x[i] = x[i] / 3;
  }
#pragma endscop
}
