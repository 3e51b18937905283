/* Fully connected layer of a quantised network: a bias, ReLU, and sums scaled back to the elements' own type. */
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
#define SHIFT (DATA_BITS - 2)
#define MOST ((1 << (DATA_BITS - 1)) - 1)

void quantised_layer(const data_t input[N][I], const data_t weight[O][I], const data_t bias[O], data_t output[N][O])
{
#pragma scop
  for (int n = 0; n < N; n++)
    for (int o = 0; o < O; o++) {
      sum_t sum = bias[o];
      for (int i = 0; i < I; i++)
        sum += (sum_t)weight[o][i] * input[n][i];
      sum = sum > 0 ? sum >> SHIFT : 0;
      output[n][o] = sum < MOST ? sum : MOST;
    }
#pragma endscop
}
