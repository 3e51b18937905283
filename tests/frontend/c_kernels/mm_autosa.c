/* AutoSA style: local loop variables, zero first, accumulate in the array. */
#include <stdint.h>
#define I 6
#define J 5
#define K 7
typedef int16_t data_t;
void mm_autosa(data_t A[I][K], data_t B[J][K], int32_t C[I][J]) {
#pragma scop
  for (int i = 0; i < I; i++)
    for (int j = 0; j < J; j++) {
      C[i][j] = 0;
      for (int k = 0; k < K; k++)
        C[i][j] = C[i][j] + A[i][k] * B[j][k];
    }
#pragma endscop
}
