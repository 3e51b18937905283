#include <stdint.h>
int total;
int16_t history[9];
void prefix(const int16_t a[9], int sums[10]) {
  int run = 5;
#pragma scop
  sums[0] = 0;
  for (int i = 0; i < 9; i++) {
    sums[i + 1] = sums[i] + a[i];
    run += a[i];
    history[8 - i] = run;
  }
  total = run;
#pragma endscop
}
