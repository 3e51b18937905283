/* Length of the longest common subsequence of all prefixes of two sequences. */
#include <stdint.h>

#ifndef N
#define N 12
#endif
#ifndef M
#define M N
#endif

void subsequence(const int8_t a[N], const int8_t b[M], int16_t length[N + 1][M + 1])
{
#pragma scop
  for (int i = 0; i <= N; i++)
    length[i][0] = 0;
  for (int j = 1; j <= M; j++)
    length[0][j] = 0;
  for (int i = 1; i <= N; i++)
    for (int j = 1; j <= M; j++) {
      int16_t best = length[i - 1][j] > length[i][j - 1] ? length[i - 1][j] : length[i][j - 1];
      length[i][j] = a[i - 1] == b[j - 1] ? length[i - 1][j - 1] + 1 : best;
    }
#pragma endscop
}
