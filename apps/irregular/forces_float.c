/* Lennard-Jones forces between particles and their neighbours, which a list names. */
#include <stdint.h>

#ifndef N
#define N 8
#endif
#ifndef K
#define K 4
#endif

void forces_float(const float x[N], const float y[N], const float z[N], const uint8_t neighbours[N][K],
                  float fx[N], float fy[N], float fz[N])
{
#pragma scop
    for (int i = 0; i < N; i++) {
        float sx = 0, sy = 0, sz = 0;
        for (int k = 0; k < K; k++) {
            int other = neighbours[i][k] & (N - 1);
            float dx = x[i] - x[other], dy = y[i] - y[other], dz = z[i] - z[other];
            float inverse = 1.0f / (dx * dx + dy * dy + dz * dz);
            float sixth = inverse * inverse * inverse;
            float weight = inverse * sixth * (1.5f * sixth - 2.0f);
            sx += weight * dx;
            sy += weight * dy;
            sz += weight * dz;
        }
        fx[i] = sx;
        fy[i] = sy;
        fz[i] = sz;
    }
#pragma endscop
}
