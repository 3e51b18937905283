/* Matrix product in single precision: C = A * B, N x N. Sums are added up in the order of the program; the adder is as
 * deep as it has to be, and so many sums take turns in it.
 */

#ifndef N
#define N 12
#endif

void matmul(const float A[N][N], const float B[N][N], float C[N][N])
{
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      float sum = 0.0f;
      for (int k = 0; k < N; k++)
        sum += A[i][k] * B[k][j];
      C[i][j] = sum;
    }
#pragma endscop
}
