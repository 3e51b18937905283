/* G = (A B) (C D). */
#include "elements.h"

#ifndef NI
#define NI 5
#endif
#ifndef NJ
#define NJ 6
#endif
#ifndef NK
#define NK 7
#endif
#ifndef NL
#define NL 8
#endif
#ifndef NM
#define NM 9
#endif

void three_products(DATA_TYPE E[NI][NJ], const DATA_TYPE A[NI][NK], const DATA_TYPE B[NK][NJ], DATA_TYPE F[NJ][NL], const DATA_TYPE C[NJ][NM], const DATA_TYPE D[NM][NL], DATA_TYPE G[NI][NL])
{
#pragma scop
  for (int i = 0; i < NI; i++)
    for (int j = 0; j < NJ; j++) {
      E[i][j] = 0;
      for (int k = 0; k < NK; k++)
        E[i][j] += A[i][k] * B[k][j];
    }
  for (int i = 0; i < NJ; i++)
    for (int j = 0; j < NL; j++) {
      F[i][j] = 0;
      for (int k = 0; k < NM; k++)
        F[i][j] += C[i][k] * D[k][j];
    }
  for (int i = 0; i < NI; i++)
    for (int j = 0; j < NL; j++) {
      G[i][j] = 0;
      for (int k = 0; k < NJ; k++)
        G[i][j] += E[i][k] * F[k][j];
    }
#pragma endscop
}
