#include <stdint.h>
#define O 3
#define C 2
#define R 5
#define W 6
#define P 3
void conv(const int8_t in[C][R + P - 1][W + P - 1], const int8_t w[O][C][P][P], int32_t out[O][R][W]) {
#pragma scop
  for (int o = 0; o < O; o++)
    for (int r = 0; r < R; r++)
      for (int x = 0; x < W; x++) {
        out[o][r][x] = 0;
        for (int c = 0; c < C; c++)
          for (int p = 0; p < P; p++)
            for (int q = 0; q < P; q++)
              out[o][r][x] += in[c][r + p][x + q] * w[o][c][p][q];
      }
#pragma endscop
}
