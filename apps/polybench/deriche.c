/* Deriche's recursive filter over rows, then columns, each in both directions; coefficients in eighths. */
#include "integers.h"

#ifndef W
#define W 8
#endif
#ifndef H
#define H 9
#endif

void deriche(const DATA_TYPE image[W][H], DATA_TYPE out[W][H], DATA_TYPE y1[W][H], DATA_TYPE y2[W][H])
{
#pragma scop
  DATA_TYPE xm1, ym1, ym2, xp1, xp2, yp1, yp2;
  for (int i = 0; i < W; i++) {
    ym1 = 0;
    ym2 = 0;
    xm1 = 0;
    for (int j = 0; j < H; j++) {
      y1[i][j] = (3 * image[i][j] + 2 * xm1 + 5 * ym1 - 2 * ym2) >> 3;
      xm1 = image[i][j];
      ym2 = ym1;
      ym1 = y1[i][j];
    }
  }
  for (int i = 0; i < W; i++) {
    yp1 = 0;
    yp2 = 0;
    xp1 = 0;
    xp2 = 0;
    for (int j = H - 1; j >= 0; j--) {
      y2[i][j] = (2 * xp1 + 1 * xp2 + 5 * yp1 - 2 * yp2) >> 3;
      xp2 = xp1;
      xp1 = image[i][j];
      yp2 = yp1;
      yp1 = y2[i][j];
    }
  }
  for (int i = 0; i < W; i++)
    for (int j = 0; j < H; j++)
      out[i][j] = y1[i][j] + y2[i][j];
  for (int j = 0; j < H; j++) {
    xm1 = 0;
    ym1 = 0;
    ym2 = 0;
    for (int i = 0; i < W; i++) {
      y1[i][j] = (3 * out[i][j] + 2 * xm1 + 5 * ym1 - 2 * ym2) >> 3;
      xm1 = out[i][j];
      ym2 = ym1;
      ym1 = y1[i][j];
    }
  }
  for (int j = 0; j < H; j++) {
    xp1 = 0;
    xp2 = 0;
    yp1 = 0;
    yp2 = 0;
    for (int i = W - 1; i >= 0; i--) {
      y2[i][j] = (2 * xp1 + 1 * xp2 + 5 * yp1 - 2 * yp2) >> 3;
      xp2 = xp1;
      xp1 = out[i][j];
      yp2 = yp1;
      yp1 = y2[i][j];
    }
  }
  for (int i = 0; i < W; i++)
    for (int j = 0; j < H; j++)
      out[i][j] = y1[i][j] + y2[i][j];
#pragma endscop
}
