/* Sobel edge detector: |horizontal gradient| + |vertical gradient| of a picture, limited to 255.
 *
 * The valid region only: H x W in, two less in each direction out.
 */
#include <stdint.h>

#ifndef H
#define H 64
#endif
#ifndef W
#define W 64
#endif

void sobel(const uint8_t image[H][W], uint8_t edges[H - 2][W - 2])
{
  int x, y;

#pragma scop
  for (y = 0; y < H - 2; y++)
    for (x = 0; x < W - 2; x++) {
      int gx = image[y][x + 2] - image[y][x]
             + 2 * (image[y + 1][x + 2] - image[y + 1][x])
             + image[y + 2][x + 2] - image[y + 2][x];
      int gy = image[y + 2][x] - image[y][x]
             + 2 * (image[y + 2][x + 1] - image[y][x + 1])
             + image[y + 2][x + 2] - image[y][x + 2];
      if (gx < 0)
        gx = -gx;
      if (gy < 0)
        gy = -gy;
      int strength = gx + gy;
      edges[y][x] = strength > 255 ? 255 : strength;
    }
#pragma endscop
}
