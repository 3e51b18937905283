#include <stdint.h>
#define M 8
#define N 16
void int4_matvec(const uint8_t w[M][N / 2], const int8_t x[N], const int16_t scale[M], int32_t y[M]) {
#pragma scop
  for (int i = 0; i < M; i++) {
    int32_t acc = 0;
    for (int j = 0; j < N / 2; j++) {
      int8_t low = (int8_t)(w[i][j] << 4) >> 4, high = (int8_t)w[i][j] >> 4;
      acc += low * x[2 * j] + high * x[2 * j + 1];
    }
    y[i] = acc * scale[i];
  }
#pragma endscop
}
