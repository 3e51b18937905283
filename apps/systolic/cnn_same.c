/* Convolution layer with outputs as large as its inputs: taps beyond the border of the image are left out. */
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

void cnn_same(const data_t input[I][H][W], const data_t weight[O][I][P][Q], sum_t output[O][H][W])
{
#pragma scop
  for (int o = 0; o < O; o++)
    for (int h = 0; h < H; h++)
      for (int w = 0; w < W; w++) {
        sum_t sum = 0;
        for (int i = 0; i < I; i++)
          for (int p = 0; p < P; p++)
            for (int q = 0; q < Q; q++)
              if (h + p >= P / 2 && h + p < H + P / 2 && w + q >= Q / 2 && w + q < W + Q / 2)
                sum += (sum_t)input[i][h + p - P / 2][w + q - Q / 2] * weight[o][i][p][q];
        output[o][h][w] = sum;
      }
#pragma endscop
}
