/* y[j] = sum over i < TAPS of x[j + i] * h[i], wrapping at the element's width; N outputs, N + TAPS - 1 inputs.
 *
 * Outputs are computed in chunks, long enough to hide the pipeline between dependent instructions. The first and the
 * last one are short: little is loaded before the lanes begin, and little is left to be stored when they end.
 */
#include "bench.h"

#define TAPS 16
#define ROW (4 * VECTOR_LANES)

#if VECTOR_LANES >= 16
#define EDGE_BYTES (8 * ROW)
#define MOST_BYTES (18 * ROW)
#else
#define EDGE_BYTES 256u
#define MOST_BYTES 1024u
#endif
#define EDGE MIN(EDGE_BYTES / ELEMENT, N / 4)

/* What is between the edges, in equal parts of whole wavefronts. */
#define MIDDLE_BYTES ((N - 2 * EDGE) * ELEMENT)
#define PARTS ((MIDDLE_BYTES + MOST_BYTES - 1) / MOST_BYTES)
#define CHUNK_BYTES ((MIDDLE_BYTES / PARTS + ROW - 1) / ROW * ROW)
#define CHUNK (CHUNK_BYTES / ELEMENT)
#define INPUT_BYTES (CHUNK_BYTES + (TAPS - 1) * ELEMENT)

element x[N + TAPS] ALIGNED, y[N] ALIGNED, h[TAPS] ALIGNED;

/* Outputs of the chunk that begins with output `first`. */
static inline uint32_t chunk_at(uint32_t first)
{
    if (first == 0)
        return EDGE;
    return first < N - EDGE ? MIN(CHUNK, N - EDGE - first) : N - first;
}

static inline void compute(scratch there, scratch here, uint32_t count)
{
    vector_set_vl(count);
    vector(MODE(SV), VMUL, there, h[0], here);
    /* Unrolled in part: all of it would take longer to fetch for the first time than it saves. */
#pragma GCC unroll 5
    for (int i = 1; i < TAPS; i++)
        vector(MODE(SV), VMAC, there, h[i], here + i * ELEMENT);
}

#if VECTOR_SCRATCHPAD_BYTES >= (2 * N + TAPS) * ELEMENT + 64

/* All fits the scratchpad: every input is loaded once, and nothing waits for a buffer. */
static void kernel(void)
{
    scratch in = allocate(sizeof x), out = allocate(sizeof y);
    uint32_t count = EDGE, next = chunk_at(EDGE), asked = EDGE + next;

    vector_dma_to_vector(in, x, (EDGE + TAPS - 1) * ELEMENT);
    vector_dma_to_vector(in + (EDGE + TAPS - 1) * ELEMENT, x + EDGE + TAPS - 1, next * ELEMENT);
    for (uint32_t first = 0; first < N;) {
        uint32_t later = asked < N ? chunk_at(asked) : 0;
        if (later)
            vector_dma_to_vector(in + (asked + TAPS - 1) * ELEMENT, x + asked + TAPS - 1, later * ELEMENT);
        asked += later;
        compute(out + first * ELEMENT, in + first * ELEMENT, count);
        vector_dma_to_host(y + first, out + first * ELEMENT, count * ELEMENT);
        first += count;
        count = next;
        next = later;
    }
}

#else

static inline void fetch(scratch target, uint32_t first)
{
    vector_dma_to_vector(target, x + first, (chunk_at(first) + TAPS - 1) * ELEMENT);
}

static void kernel(void)
{
    scratch in[3] = {allocate(INPUT_BYTES), allocate(INPUT_BYTES), allocate(INPUT_BYTES)};
    scratch out[2] = {allocate(CHUNK_BYTES), allocate(CHUNK_BYTES)};

    fetch(in[0], 0);
    fetch(in[1], EDGE);
    for (uint32_t first = 0; first < N;) {
        uint32_t here = in[0], there = out[0], count = chunk_at(first);
        uint32_t next = first + count < N ? first + count + chunk_at(first + count) : N;
        if (next < N)
            fetch(in[2], next);
        compute(there, here, count);
        vector_dma_to_host(y + first, there, count * ELEMENT);
        in[0] = in[1];
        in[1] = in[2];
        in[2] = here;
        out[0] = out[1];
        out[1] = there;
        first += count;
    }
}

#endif
