/* End of a residual block of a quantised network: sums of a convolution are scaled by a factor of their channel, a bias
 * and the block's input are added, then ReLU and the elements' own type. */
#include "types.h"

#ifndef O
#define O 4
#endif
#ifndef H
#define H 6
#endif
#ifndef W
#define W 5
#endif
#ifndef I
#define I 3
#endif
#ifndef P
#define P 3
#endif
#ifndef Q
#define Q 3
#endif
#define MOST ((1 << (DATA_BITS - 1)) - 1)

void residual_layer(const data_t x[I][H + P - 1][W + Q - 1], const data_t w[O][I][P][Q], const data_t scale[O],
                    const sum_t bias[O], const data_t before[O][H][W], data_t y[O][H][W])
{
#pragma scop
  for (int o = 0; o < O; o++)
    for (int h = 0; h < H; h++)
      for (int v = 0; v < W; v++) {
        sum_t sum = 0;
        for (int i = 0; i < I; i++)
          for (int p = 0; p < P; p++)
            for (int q = 0; q < Q; q++)
              sum += (sum_t)x[i][h + p][v + q] * w[o][i][p][q];
        sum = ((sum * scale[o] + bias[o]) >> DATA_BITS) + before[o][h][v];
        y[o][h][v] = sum < 0 ? 0 : sum < MOST ? sum : MOST;
      }
#pragma endscop
}
