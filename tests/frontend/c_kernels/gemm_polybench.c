/* PolyBench style: iterators of the function, scalars by value, C both read and written. */
#ifndef NI
# define NI 6
#endif
#define NJ 4
#define NK 5
#define DATA_TYPE int
void gemm_polybench(int ni, int nj, int nk, DATA_TYPE alpha, DATA_TYPE beta,
                    DATA_TYPE C[NI][NJ], DATA_TYPE A[NI][NK], DATA_TYPE B[NK][NJ])
{
  int i, j, k;

#pragma scop
  for (i = 0; i < ni; i++) {
    for (j = 0; j < nj; j++)
      C[i][j] *= beta;
    for (k = 0; k < nk; k++) {
       for (j = 0; j < nj; j++)
         C[i][j] += alpha * A[i][k] * B[k][j];
    }
  }
#pragma endscop
}
