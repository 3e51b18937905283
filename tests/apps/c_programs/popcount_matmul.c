#include <stdint.h>
#define M 6
#define N 6
#define K 4
static inline int ones(uint32_t v) {
  v = v - ((v >> 1) & 0x55555555u);
  v = (v & 0x33333333u) + ((v >> 2) & 0x33333333u);
  v = (v + (v >> 4)) & 0x0f0f0f0fu;
  return (v * 0x01010101u) >> 24;
}
void popcount_matmul(const uint32_t a[M][K], const uint32_t b[N][K], int16_t c[M][N]) {
#pragma scop
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      c[i][j] = 0;
      for (int k = 0; k < K; k++)
        c[i][j] += 32 - 2 * ones(a[i][k] ^ b[j][k]);
    }
#pragma endscop
}
