#include <stdint.h>
#define N 15
#define S 4
static uint8_t times(uint8_t a, uint8_t b) {
  uint8_t p = 0;
  for (int k = 0; k < 4; k++) {
    if (b >> k & 1)
      p ^= a;
    a = a << 1 ^ (a & 8 ? 0x13 : 0);
  }
  return p & 15;
}
static const uint8_t ROOT[S] = {2, 4, 8, 3};
void syndromes(const uint8_t r[N], uint8_t s[S]) {
#pragma scop
  for (int j = 0; j < S; j++) {
    uint8_t v = 0;
    for (int i = 0; i < N; i++)
      v = times(v, ROOT[j]) ^ (r[i] & 15);
    s[j] = v;
  }
#pragma endscop
}
