/* CRC-32 of a message, a byte at a time, by a table that the host has computed. */
#include <stdint.h>

#ifndef N
#define N 32
#endif

void crc_table(const uint8_t message[N], const uint32_t table[256], uint32_t crc[1])
{
#pragma scop
    uint32_t c = 0xFFFFFFFFu;
    for (int i = 0; i < N; i++)
        c = table[(c ^ message[i]) & 255] ^ (c >> 8);
    crc[0] = c ^ 0xFFFFFFFFu;
#pragma endscop
}
