#include <stdint.h>
#define N 24
#define K 4
#define D 3
void kmeans(const uint8_t x[N][D], const uint8_t start[K][D], uint8_t label[N], uint8_t c[K][D]) {
  uint32_t sum[K][D], count[K];
#pragma scop
  for (int k = 0; k < K; k++) {
    count[k] = 0;
    for (int d = 0; d < D; d++)
      sum[k][d] = 0;
  }
  for (int i = 0; i < N; i++) {
    int best = 0x7fffffff, which = 0;
    for (int k = 0; k < K; k++) {
      int dist = 0;
      for (int d = 0; d < D; d++)
        dist += (x[i][d] - start[k][d]) * (x[i][d] - start[k][d]);
      if (dist < best) {
        best = dist;
        which = k;
      }
    }
    label[i] = which;
    count[which]++;
    for (int d = 0; d < D; d++)
      sum[which][d] += x[i][d];
  }
  for (int k = 0; k < K; k++)
    for (int d = 0; d < D; d++)
      c[k][d] = count[k] > 0 ? sum[k][d] / count[k] : start[k][d];
#pragma endscop
}
