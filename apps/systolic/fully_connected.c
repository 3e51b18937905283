/* Fully connected layer on a batch of N inputs, added to what the output holds. */
#include "types.h"

#ifndef N
#define N 4
#endif
#ifndef O
#define O 8
#endif
#ifndef I
#define I 16
#endif

void fully_connected(const data_t input[N][I], const data_t weight[O][I], sum_t output[N][O])
{
#pragma scop
  for (int n = 0; n < N; n++)
    for (int i = 0; i < I; i++)
      for (int o = 0; o < O; o++)
        output[n][o] += (sum_t)weight[o][i] * input[n][i];
#pragma endscop
}
