#include <stdint.h>
#define N 32
void compaction(const int16_t x[N], int16_t y[N]) {
  int keep[N], at[N];
#pragma scop
  for (int i = 0; i < N; i++) {
    keep[i] = x[i] > 0;
    y[i] = 0;
  }
  at[0] = 0;
  for (int i = 1; i < N; i++)
    at[i] = at[i - 1] + keep[i - 1];
  for (int i = 0; i < N; i++)
    if (keep[i])
      y[at[i]] = x[i];
#pragma endscop
}
