/* Borders by conditions on iterators inside expressions and in subscripts; constant weights. */
#include <stdint.h>
#define H 7
#define W 6
static const int8_t weights[3][3] = {{1, 2, 1}, {2, 4, 2}, {1, 2}};
void conv_border(uint8_t in[H][W], uint8_t zero[H][W], uint8_t clamped[H][W]) {
#pragma scop
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++) {
      int sum = 0, edge = 0;
      for (int v = -1; v <= 1; v++)
        for (int u = -1; u <= 1; u++) {
          sum += weights[v + 1][u + 1] * (y + v >= 0 && y + v < H && x + u >= 0 && x + u < W ? in[y + v][x + u] : 0);
          edge += in[y + v < 0 ? 0 : y + v >= H ? H - 1 : y + v][x + u < 0 ? 0 : x + u >= W ? W - 1 : x + u];
        }
      zero[y][x] = sum / 16;
      clamped[y][x] = (edge + 4) / 9;
    }
#pragma endscop
}
