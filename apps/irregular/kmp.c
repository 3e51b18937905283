/* How often a pattern occurs in a text, by Knuth, Morris and Pratt: where it could begin again is in a table. */
#include <stdint.h>

#ifndef N
#define N 32
#endif
#ifndef P
#define P 4
#endif

void kmp(const int8_t pattern[P], const int8_t text[N], const int32_t failure[P], int32_t matches[1])
{
#pragma scop
    int found = 0, q = 0;
    for (int i = 0; i < N; i++) {
#pragma sluice max_trips(P)
        while (q > 0 && pattern[q & (P - 1)] != text[i])
            q = failure[(q - 1) & (P - 1)];
        if (pattern[q & (P - 1)] == text[i])
            q++;
        if (q == P) {
            found++;
            q = failure[P - 1];
        }
    }
    matches[0] = found;
#pragma endscop
}
