#include <stdint.h>
#define N 7
void jacobi_2d(uint16_t A[N][N], uint16_t B[N][N]) {
#pragma scop
  for (int t = 0; t < 2; t++) {
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        B[i][j] = (A[i][j] + A[i][j-1] + A[i][1+j] + A[1+i][j] + A[i-1][j]) / 5u;
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        A[i][j] = (B[i][j] + B[i][j-1] + B[i][1+j] + B[1+i][j] + B[i-1][j]) % 1000;
  }
#pragma endscop
}
