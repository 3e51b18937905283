/* Convolution layer: O output channels of H x W from I input channels with kernels of P x Q. */
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
#ifndef P
#define P 3
#endif
#ifndef Q
#define Q 3
#endif

void cnn(const data_t input[I][H + P - 1][W + Q - 1], const data_t weight[O][I][P][Q], sum_t output[O][H][W])
{
#pragma scop
  for (int o = 0; o < O; o++)
    for (int h = 0; h < H; h++)
      for (int w = 0; w < W; w++) {
        output[o][h][w] = 0;
        for (int i = 0; i < I; i++)
          for (int p = 0; p < P; p++)
            for (int q = 0; q < Q; q++)
              output[o][h][w] += (sum_t)input[i][h + p][w + q] * weight[o][i][p][q];
      }
#pragma endscop
}
