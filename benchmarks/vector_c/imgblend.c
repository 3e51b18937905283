/* out = (ALPHA * p + (256 - ALPHA) * q) >> 8 for N pixels of 8 bits, in words, halfwords or bytes.
 *
 * Bytes are multiplied and added as halfwords: the sum needs 16 bits. p and q are one array of two rows, so that one
 * 2-D transfer brings a piece of both.
 */
#include "bench.h"

#define ALPHA 26

#if VECTOR_LANES >= 16
#define CHUNK_BYTES 2048u
#else
#define CHUNK_BYTES (512u * VECTOR_LANES)
#endif
#define CHUNK (CHUNK_BYTES / ELEMENT)

#if ELEMENT == 1
#define WIDE_BYTES (2 * CHUNK_BYTES)
#define WIDE SVBHU
#define NARROW SVHBU
#else
#define WIDE_BYTES CHUNK_BYTES
#define WIDE MODE_U(SV)
#define NARROW MODE_U(SV)
#endif

/* The gap keeps p and q apart in the scalar core's data cache. */
#define GAP (64 / ELEMENT)

natural sources[2][N + GAP] ALIGNED, blended[N] ALIGNED;

static inline void fetch(scratch target, uint32_t first)
{
    uint32_t count = MIN(CHUNK, N - first);
    vector_dma_to_vector_rows(target, sources[0] + first, count * ELEMENT, 2);
}

static void kernel(void)
{
    scratch in[3] = {allocate(2 * CHUNK_BYTES), allocate(2 * CHUNK_BYTES), allocate(2 * CHUNK_BYTES)};
    scratch sum[2] = {allocate(WIDE_BYTES), allocate(WIDE_BYTES)};

    vector_setup_dma(CHUNK_BYTES, (N + GAP) * ELEMENT);
    fetch(in[0], 0);
    if (CHUNK < N)
        fetch(in[1], CHUNK);
    vector_set_vl(MIN(CHUNK, N));
    for (uint32_t first = 0; first < N; first += CHUNK) {
        scratch p = in[0], q = p + CHUNK_BYTES, t = sum[0];
        if (first + 2 * CHUNK < N)
            fetch(in[2], first + 2 * CHUNK);
        if (first + CHUNK > N)
            vector_set_vl(N - first);
        vector(WIDE, VMUL, t, 256 - ALPHA, q);
        vector(WIDE, VMAC, t, ALPHA, p);
        vector(NARROW, VSHR, t, 8, t);
        vector_dma_to_host(blended + first, t, MIN(CHUNK, N - first) * ELEMENT);
        in[0] = in[1];
        in[1] = in[2];
        in[2] = p;
        sum[0] = sum[1];
        sum[1] = t;
    }
}
