#include <stdint.h>
#define H 6
#define W 8
#define A 4
#define R 24
static const int8_t COS[A] = {64, 45, 0, -45}, SIN[A] = {0, 45, 64, 45};
void hough(const uint8_t x[H][W], uint8_t votes[A][R]) {
#pragma scop
  for (int a = 0; a < A; a++)
    for (int r = 0; r < R; r++)
      votes[a][r] = 0;
  for (int i = 0; i < H; i++)
    for (int j = 0; j < W; j++)
      if (x[i][j] > 128)
        for (int a = 0; a < A; a++) {
          int r = ((j * COS[a] + i * SIN[a]) >> 6) + 8;
          votes[a][r] += 1;
        }
#pragma endscop
}
