#include <stdint.h>
#define N 16
#define DEPTH 4
#define FEATURES 8
void tree(const int16_t x[N][FEATURES], const uint8_t feature[15], const int16_t threshold[15], const int16_t leaf[16], int16_t y[N]) {
#pragma scop
  for (int i = 0; i < N; i++) {
    int node = 0;
    for (int d = 0; d < DEPTH; d++)
      node = 2 * node + 1 + (x[i][feature[node] & 7] > threshold[node]);
    y[i] = leaf[node - 15];
  }
#pragma endscop
}
