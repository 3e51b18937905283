/* How often every value occurs. */
#include <stdint.h>

#ifndef N
#define N 64
#endif

void histogram(const uint8_t x[N], int32_t bins[256])
{
#pragma scop
    for (int b = 0; b < 256; b++)
        bins[b] = 0;
    for (int i = 0; i < N; i++)
        bins[x[i]] += 1;
#pragma endscop
}
