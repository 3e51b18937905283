/* How often a pattern occurs in a text, by Knuth, Morris and Pratt, a comparison a step: ends when the text has. */
#include <stdint.h>

#ifndef N
#define N 32
#endif
#ifndef P
#define P 4
#endif

void kmp_steps(const int8_t pattern[P], const int8_t text[N], const int32_t failure[P], int32_t matches[1])
{
#pragma scop
    int found = 0, q = 0, i = 0;
#pragma sluice max_trips(2 * N)
    while (i < N) {
        int same = pattern[q & (P - 1)] == text[i & (N - 1)];
        if (same || q == 0)
            i++;
        if (same)
            q++;
        else if (q > 0)
            q = failure[(q - 1) & (P - 1)];
        if (q == P) {
            found++;
            q = failure[P - 1];
        }
    }
    matches[0] = found;
#pragma endscop
}
