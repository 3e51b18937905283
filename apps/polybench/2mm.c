/* D = alpha A B C + beta D. */
#include "elements.h"

#ifndef NI
#define NI 6
#endif
#ifndef NJ
#define NJ 7
#endif
#ifndef NK
#define NK 8
#endif
#ifndef NL
#define NL 9
#endif

void two_products(DATA_TYPE alpha, DATA_TYPE beta, DATA_TYPE t[NI][NJ], const DATA_TYPE A[NI][NK], const DATA_TYPE B[NK][NJ], const DATA_TYPE C[NJ][NL], DATA_TYPE D[NI][NL])
{
#pragma scop
  for (int i = 0; i < NI; i++)
    for (int j = 0; j < NJ; j++) {
      t[i][j] = 0;
      for (int k = 0; k < NK; k++)
        t[i][j] += alpha * A[i][k] * B[k][j];
    }
  for (int i = 0; i < NI; i++)
    for (int j = 0; j < NL; j++) {
      D[i][j] *= beta;
      for (int k = 0; k < NJ; k++)
        D[i][j] += t[i][k] * C[k][j];
    }
#pragma endscop
}
