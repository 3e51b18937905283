#include <stdint.h>
#define N 64
void divisions(const int32_t a[N], const uint32_t b[N], const int8_t c[N], int q[12][N], unsigned u[8][N]) {
#pragma scop
  for (int i = 0; i < N; i++) {
    q[0][i] = a[i] / 8; q[1][i] = a[i] % 8; q[2][i] = a[i] / 7; q[3][i] = a[i] % 10; q[4][i] = a[i] / -3;
    q[5][i] = a[i] % -16; q[6][i] = a[i] / 1; q[7][i] = c[i] / 4; q[8][i] = c[i] % 3; q[9][i] = a[i] / 2147483647;
    q[10][i] = a[i] / 641 + a[i] / -1; q[11][i] = (int64_t)a[i] * 1000 / 999;
    u[0][i] = b[i] / 16; u[1][i] = b[i] % 16; u[2][i] = b[i] / 7; u[3][i] = b[i] / 10; u[4][i] = b[i] % 641;
    u[5][i] = b[i] / 2147483649u; u[6][i] = b[i] / 3; u[7][i] = (a[i] & 0xFFFF) / 255;
  }
#pragma endscop
}
