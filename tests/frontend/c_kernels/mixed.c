/* Promotion, wrap-around and comparisons of mixed signedness. */
#include <stdint.h>
#define N 40
void mixed(const int8_t a[N], const uint8_t b[N], const uint16_t c[N], const int32_t d[N], const uint32_t e[N],
           int8_t o8[N], uint16_t o16[N], int32_t o32[N], uint32_t ou[N], int64_t o64[N], unsigned char flags[N]) {
#pragma scop
  for (int i = 0; i < N; i++) {
    o8[i] = a[i] * b[i] + c[i];
    o16[i] = (a[i] - b[i]) * c[i];
    o32[i] = (a[i] >> 3) + (d[i] >> 5) - (int)(e[i] >> 9) + ~b[i];
    ou[i] = d[i] > e[i] ? d[i] - e[i] : -a[i];
    o64[i] = (long long)d[i] * d[i] - e[i] + 0xFFFFFFFFu + 3000000000;
    flags[i] = (a[i] < b[i]) | (d[i] < e[i]) << 1 | (a[i] < 5u) << 2 | !c[i] << 3 | (a[i] && b[i] > 9) << 4
             | (c[i] == 7 || !(d[i] >= a[i])) << 5 | ((unsigned)a[i] > 'z') << 6 | (-1 < b[i]) << 7;
  }
#pragma endscop
}
