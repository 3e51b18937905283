#include <stdint.h>
#define N 32
void gray_code(const uint16_t x[N], uint16_t g[N], uint16_t back[N]) {
#pragma scop
  for (int i = 0; i < N; i++) {
    g[i] = x[i] ^ x[i] >> 1;
    uint16_t b = g[i];
    for (int s = 1; s < 16; s <<= 1)
      b ^= b >> s;
    back[i] = b;
  }
#pragma endscop
}
