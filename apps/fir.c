/* Low-pass FIR filter along every row: nine symmetric taps, unity gain at frequency zero (the taps sum to 256).
 *
 *     y[r][n] = (sum over k of h[k] * x[r][n + k] + 128) >> 8
 *
 * One row is one channel of N samples of 8 bits. Only outputs whose window lies inside the row are computed.
 * Arithmetic is C's int; the products and sums of 8-bit samples fit 16 bits, and the compiler finds that out.
 */
#include <stdint.h>

#ifndef CHANNELS
#define CHANNELS 16
#endif
#ifndef N
#define N 64
#endif
#define TAPS 9

void fir(const uint8_t x[CHANNELS][N], uint8_t y[CHANNELS][N - TAPS + 1])
{
#pragma scop
  for (int r = 0; r < CHANNELS; r++)
    for (int n = 0; n < N - TAPS + 1; n++)
      y[r][n] = (4 * (x[r][n] + x[r][n + 8]) + 14 * (x[r][n + 1] + x[r][n + 7])
               + 32 * (x[r][n + 2] + x[r][n + 6]) + 48 * (x[r][n + 3] + x[r][n + 5])
               + 60 * x[r][n + 4] + 128) >> 8;
#pragma endscop
}
