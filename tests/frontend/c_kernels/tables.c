#include <stdint.h>
static const int16_t sine[8] = {0, 71, 100, 71, 0, -71, -100, -71};
void tables(const uint8_t phase[16], int16_t out[16], int reversed[8]) {
  const int scale[] = {3, 5};
  int n = 8;
#pragma scop
  for (int i = 0; i < 16; i++)
    out[i] = sine[phase[i] & 7] * scale[1] + scale[i & 1];
  for (int i = 0; i < n; i++)
    reversed[n - 1 - i] = sine[i] + scale[i < 3];
#pragma endscop
}
