#include <stdint.h>
#define ROUNDS 20
#define ROTR(v, n) ((v) >> (n) | (v) << (32 - (n)))
void sha256(const uint32_t block[16], const uint32_t K[ROUNDS], const uint32_t h0[8], uint32_t h1[8]) {
  uint32_t w[ROUNDS];
#pragma scop
  for (int t = 0; t < 16; t++)
    w[t] = block[t];
  for (int t = 16; t < ROUNDS; t++)
    w[t] = (ROTR(w[t - 2], 17) ^ ROTR(w[t - 2], 19) ^ w[t - 2] >> 10) + w[t - 7] + (ROTR(w[t - 15], 7) ^ ROTR(w[t - 15], 18) ^ w[t - 15] >> 3) + w[t - 16];
  uint32_t a = h0[0], b = h0[1], c = h0[2], d = h0[3], e = h0[4], f = h0[5], g = h0[6], h = h0[7];
  for (int t = 0; t < ROUNDS; t++) {
    uint32_t t1 = h + (ROTR(e, 6) ^ ROTR(e, 11) ^ ROTR(e, 25)) + ((e & f) ^ (~e & g)) + K[t] + w[t];
    uint32_t t2 = (ROTR(a, 2) ^ ROTR(a, 13) ^ ROTR(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g; g = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2;
  }
  h1[0] = h0[0] + a; h1[1] = h0[1] + b; h1[2] = h0[2] + c; h1[3] = h0[3] + d;
  h1[4] = h0[4] + e; h1[5] = h0[5] + f; h1[6] = h0[6] + g; h1[7] = h0[7] + h;
#pragma endscop
}
