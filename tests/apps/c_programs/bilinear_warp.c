#include <stdint.h>
#define H 8
#define W 8
#define F 8
void bilinear_warp(const uint8_t x[H][W], const int16_t m[2][3], uint8_t y[H][W]) {
#pragma scop
  for (int i = 0; i < H; i++)
    for (int j = 0; j < W; j++) {
      int u = (m[0][0] & 255) * j + (m[0][1] & 63) * i + m[0][2];
      int v = (m[1][0] & 63) * j + (m[1][1] & 255) * i + m[1][2];
      int c = u >> F, r = v >> F, fu = u & ((1 << F) - 1), fv = v & ((1 << F) - 1);
      if (c >= 0 && c < W - 1 && r >= 0 && r < H - 1) {
        int top = x[r][c] * (256 - fu) + x[r][c + 1] * fu;
        int bottom = x[r + 1][c] * (256 - fu) + x[r + 1][c + 1] * fu;
        y[i][j] = (top * (256 - fv) + bottom * fv + 32768) >> 16;
      } else
        y[i][j] = 0;
    }
#pragma endscop
}
