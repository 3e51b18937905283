/* How many steps each point takes to leave a circle, numbers with 12 bits of fraction: a loop in two others that ends
 * when the data say so. */
#include <stdint.h>

#ifndef H
#define H 4
#endif
#ifndef W
#define W 6
#endif
#ifndef MOST
#define MOST 32
#endif

void mandelbrot(uint8_t count[H][W])
{
#pragma scop
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int cr = (x - W / 2 - W / 6) * (3 * 4096 / W), ci = (y - H / 2) * (2 * 4096 / H);
            int zr = 0, zi = 0, n = 0;
            for (int k = 0; k < MOST; k++) {
                int rr = zr * zr >> 12, ii = zi * zi >> 12;
                if (rr + ii > 4 * 4096)
                    break;
                zi = (zr * zi >> 11) + ci;
                zr = rr - ii + cr;
                n++;
            }
            count[y][x] = n;
        }
#pragma endscop
}
