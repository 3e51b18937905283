#include <stdint.h>
#define N 16
#define T 4
void lms(const int16_t x[N + T], const int16_t d[N], int16_t e[N], int16_t wout[T]) {
  int16_t w[T];
#pragma scop
  for (int t = 0; t < T; t++)
    w[t] = 0;
  for (int i = 0; i < N; i++) {
    int32_t y = 0;
    for (int t = 0; t < T; t++)
      y += w[t] * x[i + t];
    int16_t err = d[i] - (y >> 15);
    e[i] = err;
    for (int t = 0; t < T; t++)
      w[t] += (err * x[i + t]) >> 18;
  }
  for (int t = 0; t < T; t++)
    wout[t] = w[t];
#pragma endscop
}
