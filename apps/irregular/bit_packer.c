/* Packs codes of a length each into words of 32 bits, the first one lowest; what the last word lacks is 0. */
#include <stdint.h>

#ifndef N
#define N 32
#endif

void bit_packer(const uint8_t symbols[N], const uint16_t codes[16], const uint8_t lengths[16], uint32_t words[N])
{
#pragma scop
    for (int i = 0; i < N; i++)
        words[i] = 0;
    int used = 0, word = 0;
    for (int i = 0; i < N; i++) {
        int s = symbols[i] & 15;
        int length = lengths[s] & 15;
        uint32_t code = codes[s] & ((1u << length) - 1);
        words[word & (N - 1)] |= code << used;
        if (used + length >= 32) {
            word++;
            if (used + length > 32)
                words[word & (N - 1)] = code >> (32 - used);
            used = used + length - 32;
        } else {
            used = used + length;
        }
    }
#pragma endscop
}
