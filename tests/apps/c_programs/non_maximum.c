#include <stdint.h>
#include <stdlib.h>
#define H 10
#define W 12
void non_maximum(const int16_t gx[H][W], const int16_t gy[H][W], uint16_t out[H][W]) {
  uint16_t mag[H][W];
#pragma scop
  for (int i = 0; i < H; i++)
    for (int j = 0; j < W; j++)
      mag[i][j] = abs(gx[i][j]) + abs(gy[i][j]);
  for (int i = 0; i < H; i++)
    for (int j = 0; j < W; j++)
      out[i][j] = 0;
  for (int i = 1; i < H - 1; i++)
    for (int j = 1; j < W - 1; j++) {
      uint16_t m = mag[i][j], p, q;
      int ax = abs(gx[i][j]), ay = abs(gy[i][j]);
      if (ay * 5 < ax * 2) {
        p = mag[i][j - 1];
        q = mag[i][j + 1];
      } else if (ax * 5 < ay * 2) {
        p = mag[i - 1][j];
        q = mag[i + 1][j];
      } else if ((gx[i][j] ^ gy[i][j]) >= 0) {
        p = mag[i - 1][j - 1];
        q = mag[i + 1][j + 1];
      } else {
        p = mag[i - 1][j + 1];
        q = mag[i + 1][j - 1];
      }
      out[i][j] = m > p && m >= q ? m : 0;
    }
#pragma endscop
}
