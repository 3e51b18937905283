#include <stdint.h>
#define N 24
#define L 3
#define M 2
#define T 4
static const int16_t H[L][T] = {{12, 100, 20, -4}, {-6, 70, 70, -6}, {-4, 20, 100, 12}};
void polyphase(const int16_t x[N + T], int16_t y[N * L / M]) {
#pragma scop
  for (int i = 0; i < N * L / M; i++) {
    int32_t acc = 64;
    for (int t = 0; t < T; t++)
      acc += H[(i * M) % L][t] * x[(i * M) / L + t];
    y[i] = acc >> 7;
  }
#pragma endscop
}
