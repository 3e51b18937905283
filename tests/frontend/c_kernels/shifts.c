#include <stdint.h>
#define N 30
void shifts(const int32_t a[N], const uint8_t n[N], const int16_t s[N], int32_t l[N], int32_t r[N], uint32_t u[N],
            int16_t t[N]) {
#pragma scop
  for (int i = 0; i < N; i++) {
    l[i] = a[i] << (n[i] & 31);
    r[i] = a[i] >> (n[i] % 32);
    u[i] = (uint32_t)a[i] >> (n[i] & 31) << 2;
    t[i] = s[i] << (n[i] & 15) >> 3;
  }
#pragma endscop
}
