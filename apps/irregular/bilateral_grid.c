/* Bilateral grid: a picture is summed into cells of STEP x STEP pixels and 32 grey levels, the cells are blurred along
   the three axes, and every pixel reads the cell of its place and its grey level. Edges stay, noise does not. */
#include <stdint.h>

#ifndef H
#define H 8
#endif
#ifndef W
#define W 8
#endif
#define STEP 4
#define LEVELS 8
#define GH (H / STEP + 2)
#define GW (W / STEP + 2)
#define GL (LEVELS + 2)

void bilateral_grid(const uint8_t in[H][W], uint8_t out[H][W])
{
    int32_t sum[GH][GW][GL], sum_l[GH][GW][GL], sum_w[GH][GW][GL], sum_h[GH][GW][GL];
    uint16_t count[GH][GW][GL], count_l[GH][GW][GL], count_w[GH][GW][GL], count_h[GH][GW][GL];
#pragma scop
    for (int y = 0; y < GH; y++)
        for (int x = 0; x < GW; x++)
            for (int l = 0; l < GL; l++) {
                sum[y][x][l] = 0;
                count[y][x][l] = 0;
            }
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            sum[y / STEP + 1][x / STEP + 1][(in[y][x] >> 5) + 1] += in[y][x];
            count[y / STEP + 1][x / STEP + 1][(in[y][x] >> 5) + 1] += 1;
        }
    for (int y = 0; y < GH; y++)
        for (int x = 0; x < GW; x++)
            for (int l = 1; l < GL - 1; l++) {
                sum_l[y][x][l] = sum[y][x][l - 1] + 2 * sum[y][x][l] + sum[y][x][l + 1];
                count_l[y][x][l] = count[y][x][l - 1] + 2 * count[y][x][l] + count[y][x][l + 1];
            }
    for (int y = 0; y < GH; y++)
        for (int x = 1; x < GW - 1; x++)
            for (int l = 1; l < GL - 1; l++) {
                sum_w[y][x][l] = sum_l[y][x - 1][l] + 2 * sum_l[y][x][l] + sum_l[y][x + 1][l];
                count_w[y][x][l] = count_l[y][x - 1][l] + 2 * count_l[y][x][l] + count_l[y][x + 1][l];
            }
    for (int y = 1; y < GH - 1; y++)
        for (int x = 1; x < GW - 1; x++)
            for (int l = 1; l < GL - 1; l++) {
                sum_h[y][x][l] = sum_w[y - 1][x][l] + 2 * sum_w[y][x][l] + sum_w[y + 1][x][l];
                count_h[y][x][l] = count_w[y - 1][x][l] + 2 * count_w[y][x][l] + count_w[y + 1][x][l];
            }
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            out[y][x] = sum_h[y / STEP + 1][x / STEP + 1][(in[y][x] >> 5) + 1]
                        / count_h[y / STEP + 1][x / STEP + 1][(in[y][x] >> 5) + 1];
#pragma endscop
}
