/* Triangular, strided and backward loops; conditions on iterators and on data. */
#include <stdint.h>
#define N 11
void conditions(const int16_t a[N][N], int16_t b[N][N], int16_t m[N], uint8_t count[1]) {
  int i, j;
#pragma scop
  for (i = 0; i < N; i++)
    for (j = N - 1; j >= 0; j -= 2) {
      if (i > j && i != 3) {
        b[i][j] = a[j][i] + i - 2 * j;
      } else if (i % 3 == 1)
        b[i][j] = a[i][j];
      if (a[i][j] > a[j][i] && j > 0) {
        int t = b[i][j];
        b[i][j] = b[i][j - 1];
        b[i][j - 1] = t;
      }
    }
  count[0] = 0;
  for (i = N - 1; i >= 1; i = i - 1) {
    m[i] = 0;
    for (j = i / 2; j < i; j++)
      if (a[i][j] > m[i]) m[i] = a[i][j];
      else if (a[i][j] < -1000) { m[i] = m[i] - 1; count[0]++; }
  }
  m[0] = b[0][0] = -7;
#pragma endscop
}
