/* Smith-Waterman: scores of the best local alignments of two sequences that end at each pair of places. */
#include <stdint.h>

#ifndef N
#define N 12
#endif
#ifndef M
#define M N
#endif
#define GAP 2

void alignment(const int8_t a[N], const int8_t b[M], int16_t score[N][M])
{
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) {
      int16_t corner = i > 0 && j > 0 ? score[i - 1][j - 1] : 0;
      int16_t above = i > 0 ? score[i - 1][j] - GAP : 0;
      int16_t left = j > 0 ? score[i][j - 1] - GAP : 0;
      int16_t match = corner + (a[i] == b[j] ? 3 : -3);
      int16_t gap = above > left ? above : left;
      int16_t best = match > gap ? match : gap;
      score[i][j] = best > 0 ? best : 0;
    }
#pragma endscop
}
