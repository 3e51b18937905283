/* Histogram equalisation: the distribution of a picture, its running sum, and the picture through it as a table. */
#include <stdint.h>

#ifndef N
#define N 64
#endif

void equalise(const uint8_t in[N], uint8_t out[N])
{
    int32_t bins[256], table[256];
#pragma scop
    for (int b = 0; b < 256; b++)
        bins[b] = 0;
    for (int i = 0; i < N; i++)
        bins[in[i]]++;
    int sum = 0;
    for (int b = 0; b < 256; b++) {
        sum += bins[b];
        table[b] = (sum * 255) / N;
    }
    for (int i = 0; i < N; i++)
        out[i] = table[in[i]];
#pragma endscop
}
