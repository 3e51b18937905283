/* Every vector of a three-dimensional array times a matrix, in place. */
#include "elements.h"

#ifndef NQ
#define NQ 4
#endif
#ifndef NR
#define NR 5
#endif
#ifndef NP
#define NP 6
#endif

void doitgen(DATA_TYPE A[NR][NQ][NP], const DATA_TYPE C4[NP][NP], DATA_TYPE sum[NP])
{
#pragma scop
  for (int r = 0; r < NR; r++)
    for (int q = 0; q < NQ; q++) {
      for (int p = 0; p < NP; p++) {
        sum[p] = 0;
        for (int s = 0; s < NP; s++)
          sum[p] += A[r][q][s] * C4[s][p];
      }
      for (int p = 0; p < NP; p++)
        A[r][q][p] = sum[p];
    }
#pragma endscop
}
