#include <stdint.h>
#define B 3
static const uint8_t ZZ[64] = {0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
  35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
void zigzag(const int16_t x[B][64], const uint8_t q[64], int16_t y[B][64]) {
#pragma scop
  for (int b = 0; b < B; b++)
    for (int k = 0; k < 64; k++) {
      int v = x[b][ZZ[k]], d = q[ZZ[k]] | 1;
      y[b][k] = (v >= 0 ? v + d / 2 : v - d / 2) / d;
    }
#pragma endscop
}
