/* y[j] = sum over i < TAPS of x[j + i] * h[i], wrapping at the element's width; N outputs, N + TAPS - 1 inputs. */
#include "bench.h"

#define TAPS 16
#define ROW (4 * VECTOR_LANES)

/* Long enough to hide the pipeline between dependent instructions, short enough to fill and drain quickly. */
#if VECTOR_LANES >= 64
#define CHUNK_BYTES (8 * ROW)
#elif VECTOR_LANES >= 16
#define CHUNK_BYTES (16 * ROW)
#else
#define CHUNK_BYTES 1024u
#endif
#define CHUNK (CHUNK_BYTES / ELEMENT)
#define INPUT_BYTES(outputs) (((outputs) + TAPS - 1) * ELEMENT)

element x[N + TAPS] ALIGNED, y[N] ALIGNED, h[TAPS] ALIGNED;

static inline void fetch(scratch target, uint32_t first)
{
    vector_dma_to_vector(target, x + first, INPUT_BYTES(MIN(CHUNK, N - first)));
}

static void kernel(void)
{
    scratch in[3] = {allocate(INPUT_BYTES(CHUNK)), allocate(INPUT_BYTES(CHUNK)), allocate(INPUT_BYTES(CHUNK))};
    scratch out[2] = {allocate(CHUNK_BYTES), allocate(CHUNK_BYTES)};

    fetch(in[0], 0);
    if (CHUNK < N)
        fetch(in[1], CHUNK);
    for (uint32_t first = 0; first < N; first += CHUNK) {
        uint32_t here = in[0], there = out[0], count = MIN(CHUNK, N - first);
        if (first + 2 * CHUNK < N)
            fetch(in[2], first + 2 * CHUNK);
        vector_set_vl(count);
        vector(MODE(SV), VMUL, there, h[0], here);
        /* Unrolled in part: all of it would take longer to fetch for the first time than it saves. */
#pragma GCC unroll 5
        for (int i = 1; i < TAPS; i++)
            vector(MODE(SV), VMAC, there, h[i], here + i * ELEMENT);
        vector_dma_to_host(y + first, there, count * ELEMENT);
        in[0] = in[1];
        in[1] = in[2];
        in[2] = here;
        out[0] = out[1];
        out[1] = there;
    }
}
