#include <stdint.h>
enum { N = 5, M = 6 };
void mm_accumulator(const int8_t (*a)[M], const int8_t b[M][N], int16_t c[][N]) {
#pragma scop
  for (unsigned i = 0; i < N; ++i)
    for (unsigned j = 0; j < N; ++j) {
      short sum = 0;
      for (unsigned k = 0; k != M; k += 1)
        sum += a[i][k] * b[k][j];
      c[i][j] = sum;
    }
#pragma endscop
}
