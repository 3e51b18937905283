/* Folding of RNA by Nussinov's dynamic programming; bases are 0 to 3. */
#include "elements.h"

#ifndef N
#define N 8
#endif

static inline DATA_TYPE greater(DATA_TYPE v, DATA_TYPE w) { return v >= w ? v : w; }

void nussinov(const DATA_TYPE seq[N], DATA_TYPE table[N][N])
{
#pragma scop
  for (int i = N - 1; i >= 0; i--)
    for (int j = i + 1; j < N; j++) {
      if (j - 1 >= 0)
        table[i][j] = greater(table[i][j], table[i][j - 1]);
      if (i + 1 < N)
        table[i][j] = greater(table[i][j], table[i + 1][j]);
      if (j - 1 >= 0 && i + 1 < N) {
        if (i < j - 1)
          table[i][j] = greater(table[i][j], table[i + 1][j - 1] + (seq[i] + seq[j] == 3 ? 1 : 0));
        else
          table[i][j] = greater(table[i][j], table[i + 1][j - 1]);
      }
      for (int k = i + 1; k < j; k++)
        table[i][j] = greater(table[i][j], table[i][k] + table[k + 1][j]);
    }
#pragma endscop
}
