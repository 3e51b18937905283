/* One generation of Conway's game on ROWS x COLUMNS cells of 0 and 1; outside everything is dead.
 *
 * sides = left + right neighbour, three = sides + cell, neighbours = three above + three below + sides, and a cell
 * lives on if neighbours | cell = 3: six operations. Strips as in fir2d.c; a strip completes the rows from the one
 * before it to its last but one. Dead columns lie between the rows.
 */
#include "bench.h"

#define HALO 2
#if VECTOR_LANES == 1
#define BLOCK MIN(128 / ELEMENT, COLUMNS)
#define PAD 2
#define STRIP 2
#define STRIPS 8
#elif VECTOR_LANES == 4
#define BLOCK MIN(256 / ELEMENT, COLUMNS)
#define PAD 2
#define STRIP 8
#define STRIPS 4
#else
#define BLOCK COLUMNS
#define PAD (32 / ELEMENT)
#define STRIP (16 / ELEMENT)
#define STRIPS 8
#endif
#define PITCH ((BLOCK + PAD) * ELEMENT)
#define OUT_PITCH (BLOCK * ELEMENT)
#define RING ((HALO + STRIPS * STRIP) * PITCH)

_Static_assert(ROWS % STRIP == 0 && COLUMNS % BLOCK == 0, "whole strips and blocks");

natural cells[ROWS][COLUMNS] ALIGNED, next_cells[ROWS][COLUMNS] ALIGNED;

static inline void fetch(scratch target, int row, int column)
{
    int before = column > 0, columns = before + BLOCK + (column + BLOCK < COLUMNS);
    vector_dma_to_vector_2D(target - before * ELEMENT, &cells[row][column - before], columns * ELEMENT,
        MIN(STRIP, ROWS - row), PITCH, COLUMNS * ELEMENT);
}

static inline void store(scratch out, int row, int column, int rows)
{
    if (row < 0) {
        row++;
        rows--;
        out += OUT_PITCH;
    }
    if (BLOCK == COLUMNS)
        vector_dma_to_host(&next_cells[row][0], out, rows * OUT_PITCH);
    else
        vector_dma_to_host_2D(&next_cells[row][column], out, BLOCK * ELEMENT, rows, COLUMNS * ELEMENT, OUT_PITCH);
}

/* The three rings, each of rows of PITCH bytes. */
struct rings {
    scratch cell, sides, three;
};

static inline void count_rows(struct rings at, int rows)
{
    vector_setup_2D(rows, PITCH, PITCH, PITCH);
    vector_2D(MODE(VV), VADD, at.sides, at.cell - ELEMENT, at.cell + ELEMENT);
    vector_2D(MODE(VV), VADD, at.three, at.sides, at.cell);
}

/* The rows that begin one above `at`. */
static inline void decide(scratch out, struct rings at, int rows)
{
    vector_setup_2D(rows, OUT_PITCH, PITCH, PITCH);
    vector_2D(MODE(VV), VADD, out, at.three - 2 * PITCH, at.three);
    vector_setup_2D(rows, OUT_PITCH, OUT_PITCH, PITCH);
    vector_2D(MODE(VV), VADD, out, out, at.sides - PITCH);
    vector_2D(MODE(VV), VOR, out, out, at.cell - PITCH);
    vector_setup_2D(rows, OUT_PITCH, 0, OUT_PITCH);
    vector_2D(MODE(SV), VSEQ, out, 3, out);
}

/* The last two rows of the ring, before its first ones. */
static inline void wrap(struct rings at)
{
    scratch offset = STRIPS * STRIP * PITCH;
    vector(MODE(VV), VMOV, at.cell - PITCH, at.cell - PITCH + offset, 0);
    vector(MODE(VV), VMOV, at.sides - PITCH, at.sides - PITCH + offset, 0);
    vector(MODE(VV), VMOV, at.three - PITCH, at.three - PITCH + offset, 0);
    vector(MODE(VV), VMOV, at.three - 2 * PITCH, at.three - 2 * PITCH + offset, 0);
}

static inline void clear_margins(struct rings start)
{
    vector_set_vl(PAD);
    vector_setup_2D(STRIPS * STRIP + 1, PITCH, 0, 0);
    vector_2D(MODE(SV), VMOV, start.cell - PAD * ELEMENT, 0, 0);
    vector_set_vl(BLOCK);
    vector(MODE(SV), VMOV, start.three - PITCH, 0, 0);
}

static inline struct rings moved(struct rings at, scratch bytes)
{
    return (struct rings){at.cell + bytes, at.sides + bytes, at.three + bytes};
}

static void kernel(void)
{
    scratch base = allocate(RING + 2 * PAD * ELEMENT);
    struct rings start = {base + PAD * ELEMENT + HALO * PITCH, allocate(RING) + HALO * PITCH,
        allocate(RING) + HALO * PITCH};
    scratch out[2] = {allocate(STRIP * OUT_PITCH), allocate(STRIP * OUT_PITCH)};

    for (int column = 0; column < COLUMNS; column += BLOCK) {
        struct rings at = start;
        clear_margins(start);
        fetch(at.cell, 0, column);
        for (int row = 0; row < ROWS; row += STRIP) {
            struct rings after = moved(at, STRIP * PITCH);
            if (after.cell == start.cell + STRIPS * STRIP * PITCH)
                after = start;
            if (row + STRIP < ROWS)
                fetch(after.cell, row + STRIP, column);
            if (row && at.cell == start.cell)
                wrap(start);
            count_rows(at, STRIP);
            decide(out[0], at, STRIP);
            store(out[0], row - 1, column, STRIP);
            scratch there = out[0];
            out[0] = out[1];
            out[1] = there;
            at = after;
        }
        if (at.cell == start.cell)
            wrap(start);
        vector(MODE(SV), VMOV, at.three, 0, 0);
        decide(out[0], at, 1);
        store(out[0], ROWS - 1, column, 1);
    }
}
