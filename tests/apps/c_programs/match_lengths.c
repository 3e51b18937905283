#include <stdint.h>
#define N 16
#define WINDOW 8
#define LONGEST 6
void match_lengths(const uint8_t x[N + WINDOW + LONGEST], uint8_t best[N], uint8_t at[N]) {
#pragma scop
  for (int i = 0; i < N; i++) {
    int length = 0, place = 0;
    for (int d = 1; d <= WINDOW; d++) {
      int run = 0, on = 1;
      for (int k = 0; k < LONGEST; k++) {
        on = on && (x[i + WINDOW + k] & 1) == (x[i + WINDOW + k - d] & 1);
        run += on;
      }
      if (run > length) {
        length = run;
        place = d;
      }
    }
    best[i] = length;
    at[i] = place;
  }
#pragma endscop
}
