/* How much of a pattern there is at every place of a text, compared until something differs. */
#include <stdint.h>

#ifndef N
#define N 32
#endif
#ifndef P
#define P 8
#endif

void naive_search(const int8_t pattern[P], const int8_t text[N + P], int32_t found[N])
{
#pragma scop
    for (int i = 0; i < N; i++) {
        int k = 0;
#pragma sluice max_trips(P)
        while (k < P && pattern[k & (P - 1)] == text[i + k])
            k++;
        found[i] = k;
    }
#pragma endscop
}
