#include <stdint.h>
#define H 8
#define W 10
static int least(int a, int b) { return a < b ? a : b; }
void distance_transform(const uint8_t x[H][W], uint8_t d[H][W]) {
#pragma scop
  for (int i = 0; i < H; i++)
    for (int j = 0; j < W; j++) {
      int v = x[i][j] > 200 ? 0 : 100;
      if (i > 0)
        v = least(v, d[i - 1][j] + 1);
      if (j > 0)
        v = least(v, d[i][j - 1] + 1);
      d[i][j] = v;
    }
  for (int i = H - 1; i >= 0; i--)
    for (int j = W - 1; j >= 0; j--) {
      int v = d[i][j];
      if (i < H - 1)
        v = least(v, d[i + 1][j] + 1);
      if (j < W - 1)
        v = least(v, d[i][j + 1] + 1);
      d[i][j] = v;
    }
#pragma endscop
}
