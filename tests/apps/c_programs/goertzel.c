#include <stdint.h>
#define N 24
#define B 4
static const int16_t COEFF[B] = {31000, 20000, -8000, 12000};
void goertzel(const int16_t x[N], int32_t power[B]) {
#pragma scop
  for (int b = 0; b < B; b++) {
    int32_t s1 = 0, s2 = 0;
    for (int n = 0; n < N; n++) {
      int32_t s = (x[n] >> 6) + (int32_t)(((int64_t)COEFF[b] * s1) >> 14) - s2;
      s2 = s1;
      s1 = s;
    }
    power[b] = (s1 >> 4) * (s1 >> 4) + (s2 >> 4) * (s2 >> 4) - (((s1 >> 4) * COEFF[b]) >> 14) * (s2 >> 4);
  }
#pragma endscop
}
