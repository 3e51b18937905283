/* The blending of imgblend.c in plain C. */
#include "scalar.h"

#define ALPHA 26

#define GAP (64 / ELEMENT)

natural sources[2][N + GAP] ALIGNED, blended[N] ALIGNED;

static void kernel(void)
{
    for (int i = 0; i < N; i++)
        blended[i] = (natural)((ALPHA * (uint32_t)sources[0][i] + (256 - ALPHA) * (uint32_t)sources[1][i]) >> 8);
}
