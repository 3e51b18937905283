/* Depth-wise convolution: every channel has a kernel of its own. */
#include "types.h"

#ifndef C
#define C 8
#endif
#ifndef H
#define H 6
#endif
#ifndef W
#define W 6
#endif
#ifndef P
#define P 3
#endif
#ifndef Q
#define Q 3
#endif

void depthwise(const data_t input[C][H + P - 1][W + Q - 1], const data_t weight[C][P][Q], sum_t output[C][H][W])
{
#pragma scop
  for (int c = 0; c < C; c++)
    for (int h = 0; h < H; h++)
      for (int w = 0; w < W; w++) {
        sum_t sum = 0;
        for (int p = 0; p < P; p++)
          for (int q = 0; q < Q; q++)
            sum += (sum_t)input[c][h + p][w + q] * weight[c][p][q];
        output[c][h][w] = sum;
      }
#pragma endscop
}
