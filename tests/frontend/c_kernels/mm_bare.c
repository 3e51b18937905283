#include <stdint.h>
void mm_bare(uint8_t A[4][4], uint8_t B[4][4], uint16_t C[4][4]) {
  int i, j, k;
#pragma scop
  for (i = 0; i <= 3; i++)
    for (j = 0; j <= 3; j++)
      for (k = 0; k <= 3; k++)
        C[i][j] += A[i][k] * B[k][j];
#pragma endscop
}
