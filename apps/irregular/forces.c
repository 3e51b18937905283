/* Forces between particles and their neighbours, which a list names: inverse powers of the distance come from a table. */
#include <stdint.h>

#ifndef N
#define N 8
#endif
#ifndef K
#define K 4
#endif

void forces(const int16_t x[N], const int16_t y[N], const int16_t z[N], const uint8_t neighbours[N][K],
            const int16_t power[64], int fx[N], int fy[N], int fz[N])
{
#pragma scop
    for (int i = 0; i < N; i++) {
        int sx = 0, sy = 0, sz = 0;
        for (int k = 0; k < K; k++) {
            int other = neighbours[i][k] & (N - 1);
            int dx = x[i] - x[other], dy = y[i] - y[other], dz = z[i] - z[other];
            unsigned square = (unsigned)(dx * dx) + (unsigned)(dy * dy) + (unsigned)(dz * dz);
            int weight = power[square >> 8 > 63 ? 63 : square >> 8];
            sx += (weight * dx) >> 8;
            sy += (weight * dy) >> 8;
            sz += (weight * dz) >> 8;
        }
        fx[i] = sx;
        fy[i] = sy;
        fz[i] = sz;
    }
#pragma endscop
}
