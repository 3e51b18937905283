/* out[l][k] = (sum over j, i < 3 of image[l + j][k + i] * c[j][i]) >> 8, wrapping at the element's width, for
 * l < ROWS - 3 and k < COLUMNS - 3; the last three columns of out are 0.
 *
 * The image passes through the scratchpad once, in strips of STRIP rows of a block of columns. STRIPS strips follow each
 * other in a ring, so a strip finds the two rows before it in place; only at the ring's start are they copied there.
 */
#include "bench.h"

#define HALO 2
#if VECTOR_LANES == 1
#define BLOCK MIN(320 / ELEMENT, COLUMNS)
#define STRIP 4
#define STRIPS 3
#elif VECTOR_LANES == 4
#define BLOCK COLUMNS
#define STRIP (16 / ELEMENT)
#define STRIPS 3
#else
#define BLOCK COLUMNS
#define STRIP (16 / ELEMENT)
#define STRIPS 8
#endif
#define PITCH (MIN(BLOCK + HALO, COLUMNS) * ELEMENT)

/* Whole rows: not so long that the last one reads into the next strip, which is on its way. */
#define LENGTH (BLOCK == COLUMNS ? COLUMNS - 3 : BLOCK)

_Static_assert(STRIPS >= 3, "a strip needs the one before it while the next one is fetched");

element image[ROWS][COLUMNS] ALIGNED, filtered[ROWS][COLUMNS] ALIGNED, c[3][3] ALIGNED;

/* Whole rows are one piece of memory. */
static inline void fetch(scratch target, int row, int column)
{
    int columns = MIN(BLOCK + HALO, COLUMNS - column), rows = MIN(STRIP, ROWS - row);
    if (BLOCK == COLUMNS)
        vector_dma_to_vector(target, &image[row][0], rows * sizeof image[0]);
    else
        vector_dma_to_vector_2D(target, &image[row][column], columns * ELEMENT, rows, PITCH, COLUMNS * ELEMENT);
}

static inline void filter(scratch out, scratch in)
{
    vector_2D(MODE(SV), VMUL, out, c[0][0], in);
#pragma GCC unroll 8
    for (int i = 1; i < 9; i++)
        vector_2D(MODE(SV), VMAC, out, c[i / 3][i % 3], in + i / 3 * PITCH + i % 3 * ELEMENT);
    vector_2D(MODE(SV), VSHR, out, 8, out);
    if (BLOCK == COLUMNS) {
        vector_set_vl(3);
        vector_2D(MODE(SV), VMOV, out + (COLUMNS - 3) * ELEMENT, 0, 0);
        vector_set_vl(LENGTH);
    }
}

/* Rows of the output that a strip of the input completes: two less than its own. */
static inline void store(scratch out, int row, int column)
{
    int first = row - HALO, columns = MIN(BLOCK, COLUMNS - 3 - column);
    if (first < 0) {
        out -= first * PITCH;
        first = 0;
    }
    int rows = MIN(row - HALO + STRIP, ROWS - 3) - first;
    if (rows > 0 && BLOCK == COLUMNS)
        vector_dma_to_host(&filtered[first][0], out, rows * sizeof filtered[0]);
    else if (rows > 0)
        vector_dma_to_host_2D(&filtered[first][column], out, columns * ELEMENT, rows, COLUMNS * ELEMENT, PITCH);
}

static void kernel(void)
{
    scratch ring = allocate((HALO + STRIPS * STRIP) * PITCH + HALO * ELEMENT);
    scratch out[2] = {allocate(STRIP * PITCH), allocate(STRIP * PITCH)};
    scratch end = ring + STRIPS * STRIP * PITCH;

    vector_setup_2D(STRIP, PITCH, 0, PITCH);
    vector_set_vl(LENGTH);
    for (int column = 0; column < COLUMNS - 3; column += BLOCK) {
        scratch here = ring;
        fetch(ring + HALO * PITCH, 0, column);
        for (int row = 0; row < ROWS; row += STRIP) {
            scratch after = here + STRIP * PITCH, there = out[0], next = after == end ? ring : after;
            if (row + STRIP < ROWS)
                fetch(next + HALO * PITCH, row + STRIP, column);
            if (here == ring && row) {
                vector_set_vl(HALO * PITCH / ELEMENT);
                vector(MODE(VV), VMOV, ring, end, 0);
                vector_set_vl(LENGTH);
            }
            filter(there, here);
            store(there, row, column);
            out[0] = out[1];
            out[1] = there;
            here = next;
        }
    }
}
