/* Sorts bytes by two passes over four bits each: count, running sum, scatter. */
#include <stdint.h>

#ifndef N
#define N 64
#endif

void radix_sort(const uint8_t keys[N], uint8_t sorted[N])
{
    int count[2][16], first[2][16];
    uint8_t half[N];
#pragma scop
    for (int p = 0; p < 2; p++)
        for (int d = 0; d < 16; d++)
            count[p][d] = 0;
    for (int i = 0; i < N; i++)
        count[0][keys[i] & 15]++;
    for (int i = 0; i < N; i++)
        count[1][keys[i] >> 4]++;
    for (int p = 0; p < 2; p++) {
        int sum = 0;
        for (int d = 0; d < 16; d++) {
            first[p][d] = sum;
            sum += count[p][d];
        }
    }
    for (int i = 0; i < N; i++) {
        int d = keys[i] & 15;
        half[first[0][d] & (N - 1)] = keys[i];
        first[0][d] += 1;
    }
    for (int i = 0; i < N; i++) {
        int key = half[i];
        int d = key >> 4;
        sorted[first[1][d] & (N - 1)] = key;
        first[1][d] += 1;
    }
#pragma endscop
}
