#include <stdint.h>
#define R 2
static uint8_t xtime(uint8_t v) { return (uint8_t)(v << 1) ^ (v & 0x80 ? 0x1b : 0); }
void mixcolumns(const uint8_t in[4][4], const uint8_t key[R][4][4], const uint8_t sbox[256], uint8_t out[4][4]) {
  uint8_t s[4][4], t[4][4];
#pragma scop
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      s[i][j] = in[i][j];
  for (int r = 0; r < R; r++) {
    for (int i = 0; i < 4; i++)
      for (int j = 0; j < 4; j++)
        t[i][j] = sbox[s[i][(j + i) % 4]];
    for (int j = 0; j < 4; j++)
      for (int i = 0; i < 4; i++)
        s[i][j] = xtime(t[i][j]) ^ xtime(t[(i + 1) & 3][j]) ^ t[(i + 1) & 3][j] ^ t[(i + 2) & 3][j] ^ t[(i + 3) & 3][j] ^ key[r][i][j];
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      out[i][j] = s[i][j];
#pragma endscop
}
