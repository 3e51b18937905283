/* How fast the core issues instructions: the filter of fir.c on vectors of LENGTH elements, four of them in turn so that
 * neighbouring instructions do not depend on each other. Data are in the scratchpad when the clock starts. */
#define PREPARED
#include "bench.h"

#define TAPS 16
#define ROWS_IN_TURN 4
#define BYTES (LENGTH * ELEMENT)

element x[N + TAPS] ALIGNED, y[N] ALIGNED, h[TAPS] ALIGNED;

_Static_assert(N % (ROWS_IN_TURN * LENGTH) == 0, "whole groups of vectors");

static scratch in, out;

static void kernel(void)
{
    vector_set_vl(LENGTH);
    for (scratch a = in, d = out; a < in + N * ELEMENT; a += ROWS_IN_TURN * BYTES, d += ROWS_IN_TURN * BYTES) {
#pragma GCC unroll 4
        for (int k = 0; k < ROWS_IN_TURN; k++)
            vector(MODE(SV), VMUL, d + k * BYTES, h[0], a + k * BYTES);
#pragma GCC unroll 16
        for (int i = 1; i < TAPS; i++) {
#pragma GCC unroll 4
            for (int k = 0; k < ROWS_IN_TURN; k++)
                vector(MODE(SV), VMAC, d + k * BYTES, h[i], a + k * BYTES + i * ELEMENT);
        }
    }
}

static void prepare(void)
{
    in = allocate(sizeof x);
    out = allocate(sizeof y);
    vector_dma_to_vector(in, x, sizeof x);
    vector_sync();
}

static void conclude(void)
{
    vector_dma_to_host(y, out, sizeof y);
    vector_sync();
}
