/* A pipeline through local arrays, a temporary that is used twice, and names that are reserved words of isl. */
#include <stdint.h>
#define H 6
#define W 9
void brighten(const uint8_t image[H][W], uint8_t result[H - 1][W - 1]) {
  uint8_t max[H][W];
  int exists, mod;
#pragma scop
  for (exists = 0; exists < H; exists++)
    for (mod = 0; mod < W; mod++) {
      int t = image[exists][mod] * 2;
      t = t > 255 ? 255 : t;
      max[exists][mod] = t;
    }
  for (exists = 0; exists < H - 1; exists++)
    for (mod = 0; mod < W - 1; mod++) {
      int t = max[exists][mod] + max[exists][mod + 1] + max[exists + 1][mod] + max[exists + 1][mod + 1];
      result[exists][mod] = t >> 2;
    }
#pragma endscop
}
