#include <stdint.h>
#define TAPS 4
void fir_shift(const int16_t x[20], const int16_t h[TAPS], int16_t y[17]) {
  int line[TAPS];
  line[3] = 0;
#pragma scop
  for (int n = 0; n < 17; n++) {
    int64_t acc = 1 << 3;
    for (int k = TAPS - 1; k >= 0; k--)
      acc += (int64_t)h[k] * x[n + TAPS - 1 - k];
    y[n] = acc >> 4;
  }
#pragma endscop
}
