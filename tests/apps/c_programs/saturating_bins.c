#include <stdint.h>
#define N 48
#define B 16
void saturating_bins(const uint8_t x[N], uint8_t h[B]) {
#pragma scop
  for (int b = 0; b < B; b++)
    h[b] = 0;
  for (int i = 0; i < N; i++)
    if (h[x[i] >> 4] < 4)
      h[x[i] >> 4]++;
#pragma endscop
}
