/* Deriche's recursive filter over rows, then columns, each in both directions; coefficients of integers in eighths. */
#include "elements.h"

#if FLOAT_BITS /* of alpha = 0.25: k, k e^-a (a - 1), k e^-a (a + 1), -k e^-2a, 2^-a, -e^-2a */
#define A1 SCALAR(-0.18868165852083035)
#define A2 SCALAR(0.11020906755542557)
#define A3 SCALAR(-0.1836817792590426)
#define A4 SCALAR(0.11444121081831306)
#define B1 SCALAR(0.8408964152537145)
#define B2 SCALAR(-0.6065306597126334)
#define SCALED(v) (v)
#else
#define A1 3
#define A2 2
#define A3 2
#define A4 1
#define B1 5
#define B2 (-2)
#define SCALED(v) ((v) >> 3)
#endif

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
      y1[i][j] = SCALED(A1 * image[i][j] + A2 * xm1 + B1 * ym1 + B2 * ym2);
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
      y2[i][j] = SCALED(A3 * xp1 + A4 * xp2 + B1 * yp1 + B2 * yp2);
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
      y1[i][j] = SCALED(A1 * out[i][j] + A2 * xm1 + B1 * ym1 + B2 * ym2);
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
      y2[i][j] = SCALED(A3 * xp1 + A4 * xp2 + B1 * yp1 + B2 * yp2);
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
