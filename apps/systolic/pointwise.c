/* Point-wise convolution: a matrix product over the channels of every pixel, with a bias per output channel. */
#include "types.h"

#ifndef O
#define O 8
#endif
#ifndef H
#define H 6
#endif
#ifndef W
#define W 6
#endif
#ifndef I
#define I 8
#endif

void pointwise(const data_t input[I][H][W], const data_t weight[O][I], const sum_t bias[O], sum_t output[O][H][W])
{
#pragma scop
  for (int o = 0; o < O; o++)
    for (int h = 0; h < H; h++)
      for (int w = 0; w < W; w++) {
        output[o][h][w] = bias[o];
        for (int i = 0; i < I; i++)
          output[o][h][w] += (sum_t)input[i][h][w] * weight[o][i];
      }
#pragma endscop
}
