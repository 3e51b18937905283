/* Finite differences in time of an electric and a magnetic field. */
#include "elements.h"

#if FLOAT_BITS
#define HALF(v) (SCALAR(0.5) * (v))
#define SEVEN_TENTHS(v) (SCALAR(0.7) * (v))
#else
#define HALF(v) ((v) >> 1)
#define SEVEN_TENTHS(v) ((7 * (v)) / 10)
#endif

#ifndef TSTEPS
#define TSTEPS 3
#endif
#ifndef NX
#define NX 7
#endif
#ifndef NY
#define NY 8
#endif

void fdtd_2d(DATA_TYPE ex[NX][NY], DATA_TYPE ey[NX][NY], DATA_TYPE hz[NX][NY], const DATA_TYPE fict[TSTEPS])
{
#pragma scop
  for (int t = 0; t < TSTEPS; t++) {
    for (int j = 0; j < NY; j++)
      ey[0][j] = fict[t];
    for (int i = 1; i < NX; i++)
      for (int j = 0; j < NY; j++)
        ey[i][j] = ey[i][j] - HALF(hz[i][j] - hz[i - 1][j]);
    for (int i = 0; i < NX; i++)
      for (int j = 1; j < NY; j++)
        ex[i][j] = ex[i][j] - HALF(hz[i][j] - hz[i][j - 1]);
    for (int i = 0; i < NX - 1; i++)
      for (int j = 0; j < NY - 1; j++)
        hz[i][j] = hz[i][j] - SEVEN_TENTHS(ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
  }
#pragma endscop
}
