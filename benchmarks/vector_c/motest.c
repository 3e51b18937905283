/* sad[l][k] = sum over j, i < 16 of |block[j][i] - window[l + j][k + i]| for l, k < 16, in words.
 *
 * For every k the 32 x 16 part of the window that begins in column k is put together without gaps; then each l is a
 * row of 256 absolute differences that the accumulator adds up, 16 rows in one instruction. Transfers put the parts
 * together while the lanes add; with 64 lanes they would take longer than that, so every other part is copied by the
 * lanes.
 */
#include "bench.h"

#define SIDE 16
#define WINDOW (2 * SIDE)
#define PART (WINDOW * SIDE * ELEMENT)
#define BUFFERS 2

#if ELEMENT == 4
#define SUM VVWU
#elif ELEMENT == 2
#define SUM VVHWU
#else
#define SUM VVBWU
#endif

natural block[SIDE][SIDE] ALIGNED, window[WINDOW][WINDOW] ALIGNED;
uint32_t sad[SIDE][SIDE] ALIGNED;

static inline void fetch(scratch part, int k)
{
    vector_dma_to_vector_rows(part, &window[0][k], SIDE * ELEMENT, WINDOW);
}

static inline void add(scratch sums, int k, scratch here, scratch part)
{
    vector_acc_abs_2D(SUM, VSUB, sums + k * 4, here, part);
}

static void kernel(void)
{
    scratch here = allocate(sizeof block), sums = allocate(sizeof sad);
    scratch part[BUFFERS] = {allocate(PART), allocate(PART)};

    vector_setup_dma(SIDE * ELEMENT, WINDOW * ELEMENT);
#if VECTOR_LANES < 64
    vector_dma_to_vector(here, block, sizeof block);
    fetch(part[0], 0);
    fetch(part[1], 1);
    vector_set_vl(SIDE * SIDE);
    vector_setup_2D(SIDE, SIDE * 4, 0, SIDE * ELEMENT);
    for (int k = 0; k < SIDE; k += 2) {
        add(sums, k, here, part[0]);
        if (k + 2 < SIDE)
            fetch(part[0], k + 2);
        add(sums, k + 1, here, part[1]);
        if (k + 3 < SIDE)
            fetch(part[1], k + 3);
    }
#else
    scratch whole = allocate(sizeof window), other = allocate(PART);
    vector_dma_to_vector(whole, window, sizeof window);
    vector_dma_to_vector(here, block, sizeof block);
    fetch(part[0], 1);
    for (int k = 0; k < SIDE; k += 2) {
        scratch now = part[0];
        if (k + 3 < SIDE)
            fetch(part[1], k + 3);
        vector_set_vl(SIDE);
        vector_setup_2D(WINDOW, SIDE * ELEMENT, WINDOW * ELEMENT, 0);
        vector_2D(MODE(VV), VMOV, other, whole + k * ELEMENT, 0);
        vector_set_vl(SIDE * SIDE);
        vector_setup_2D(SIDE, SIDE * 4, 0, SIDE * ELEMENT);
        add(sums, k, here, other);
        add(sums, k + 1, here, now);
        part[0] = part[1];
        part[1] = now;
    }
#endif
    vector_dma_to_host(sad, sums, sizeof sad);
}
