/* middle[y][x] = median of image[y .. y + 4][x .. x + 4], unsigned.
 *
 * The image is cut into BANDS bands of rows, which advance together, two rows in a step, in blocks of BLOCK columns. A
 * step sorts its two rows (an even and an odd one) over five columns, merges the odd row before with its even row, and
 * from this pair and the one before it finds the medians of two rows (see median_network.h). Sorted rows and pairs
 * stay in the scratchpad for the steps that still need them; their places rotate.
 *
 * A plane has one element for every column of every band: SIDE bands side by side fill a plane's row of PLANE bytes, and
 * the rows of other bands lie STRIDE bytes apart. Planes that sorting reads at five offsets are wider. What transfers
 * touch lies apart from everything else: hazards are found by the range from the first to the last byte of an operand.
 */
#include "bench.h"

#define WINDOW 5

/* Widest plane in bytes, and rows of bands. */
#if VECTOR_LANES == 1
#define WIDTH 64
#define HEIGHT 1
#elif VECTOR_LANES == 4
#define WIDTH 256
#define HEIGHT 1
#elif VECTOR_LANES == 16
#define WIDTH 512
#define HEIGHT 2
#else
#define WIDTH 512
#define HEIGHT 4
#endif
#define BLOCK MIN(WIDTH / ELEMENT, COLUMNS)
#define SIDE MIN(WIDTH / ELEMENT / BLOCK, 4)
#define BANDS (SIDE * HEIGHT)
#define BAND_ROWS (ROWS / BANDS)
#define STEPS (BAND_ROWS / 2 + 2)

#define PLANE (SIDE * BLOCK * ELEMENT)
#define PITCH ((BLOCK + WINDOW - 1) * ELEMENT)
#define WIDE ((SIDE * PITCH + 31) & ~31)

#define TEMPORARIES (2 * 5 + SORT_ROW_TEMPORARIES)
/* Three even rows, two odd rows, two pairs, temporary planes. */
#define PLANES (3 * 5 + 2 * 5 + 2 * 10 + TEMPORARIES)
#define STRIDE (PLANES * PLANE)

/* Results have rows of their own distance. */
#define COMPARE(op, d, a, b) vector_2D(MODE_U(VV), op, d, a, b)
#define RESULT(op, d, a, b) do { \
    vector_setup_2D(HEIGHT, PLANE, STRIDE, STRIDE); \
    vector_2D(MODE_U(VV), op, d, a, b); \
} while (0)
#include "median_network.h"

_Static_assert(TEMPORARIES >= MERGE_PAIR_TEMPORARIES && TEMPORARIES >= MEDIANS_TEMPORARIES, "places to sort in");

_Static_assert(ROWS % (2 * BANDS) == 0 && COLUMNS % BLOCK == 0, "whole bands and blocks");

natural image[ROWS + WINDOW - 1][COLUMNS + WINDOW - 1] ALIGNED, middle[ROWS][COLUMNS] ALIGNED;

/* Row `row` of every band. */
static inline void fetch(scratch target, int row, int column)
{
    for (int i = 0; i < SIDE; i++)
        vector_dma_to_vector_rows(target + i * PITCH, &image[i * HEIGHT * BAND_ROWS + row][column], PITCH, HEIGHT);
}

static inline void store(scratch source, int row, int column)
{
    for (int i = 0; i < SIDE; i++)
        vector_dma_to_host_rows(&middle[i * HEIGHT * BAND_ROWS + row][column], source + i * BLOCK * ELEMENT,
            BLOCK * ELEMENT, HEIGHT);
}

/* The first comparisons of sorting five: sources are wide planes. Results: the smallest, and c0 e0 e1 o0 o1. */
static inline void compare_neighbours(scratch smallest, scratch c, scratch in, scratch low, scratch high)
{
    scratch e = c + PLANE, o = c + 3 * PLANE;
    vector_set_vl(((HEIGHT - 1) * WIDE + SIDE * PITCH) / ELEMENT - 1);
    vector(MODE_U(VV), VMIN, low, in, in + ELEMENT);
    vector(MODE_U(VV), VMAX, high, in, in + ELEMENT);
    vector_set_vl(BLOCK);
    vector_setup_2D(SIDE, BLOCK * ELEMENT, PITCH, PITCH);
    vector_setup_3D(HEIGHT, STRIDE, WIDE, WIDE);
    vector_3D(MODE_U(VV), VMIN, e, low, low + 2 * ELEMENT);
    vector_3D(MODE_U(VV), VMAX, e + PLANE, low, low + 2 * ELEMENT);
    vector_3D(MODE_U(VV), VMIN, o, high, high + 2 * ELEMENT);
    vector_3D(MODE_U(VV), VMAX, o + PLANE, high, high + 2 * ELEMENT);
    vector_setup_2D(SIDE, BLOCK * ELEMENT, PITCH, BLOCK * ELEMENT);
    vector_setup_3D(HEIGHT, STRIDE, WIDE, STRIDE);
    vector_3D(MODE_U(VV), VMIN, smallest, in + 4 * ELEMENT, e);
    vector_3D(MODE_U(VV), VMAX, c, in + 4 * ELEMENT, e);
}

static inline void plane_shape(void)
{
    vector_set_vl(PLANE / ELEMENT);
    vector_setup_2D(HEIGHT, STRIDE, STRIDE, STRIDE);
}

struct places {
    scratch even[3], odd[2], pair[2], out[2], in[2], low, high, temporary;
};

#define WIDE_PLANE (HEIGHT * WIDE)
#define OUT_PLANE (HEIGHT * PLANE)

static inline struct places lay_out(void)
{
    scratch at = allocate(HEIGHT * STRIDE), neighbours = allocate(2 * WIDE_PLANE);
    return (struct places){
        .even = {at, at + 5 * PLANE, at + 10 * PLANE}, .odd = {at + 15 * PLANE, at + 20 * PLANE},
        .pair = {at + 25 * PLANE, at + 35 * PLANE}, .temporary = at + 45 * PLANE,
        .low = neighbours, .high = neighbours + WIDE_PLANE,
        .in = {allocate(2 * WIDE_PLANE), allocate(2 * WIDE_PLANE)},
        .out = {allocate(2 * OUT_PLANE), allocate(2 * OUT_PLANE)},
    };
}

/* Sort the rows that have come. */
static inline void sort_rows(const struct places *at)
{
    scratch t = at->temporary, u = t + 5 * PLANE, spare = t + 10 * PLANE;
    compare_neighbours(at->even[2], t, at->in[0], at->low, at->high);
    compare_neighbours(at->odd[1], u, at->in[0] + WIDE_PLANE, at->low, at->high);
    plane_shape();
    sort_row(t, t + PLANE, t + 3 * PLANE, at->even[2], spare);
    sort_row(u, u + PLANE, u + 3 * PLANE, at->odd[1], spare);
}

static inline void rotate(struct places *at)
{
    scratch even = at->even[0], odd = at->odd[0], pair = at->pair[0], out = at->out[0], in = at->in[0];
    at->even[0] = at->even[1], at->even[1] = at->even[2], at->even[2] = even;
    at->odd[0] = at->odd[1], at->odd[1] = odd;
    at->pair[0] = at->pair[1], at->pair[1] = pair;
    at->out[0] = at->out[1], at->out[1] = out;
    at->in[0] = at->in[1], at->in[1] = in;
}

static inline void fetch_step(scratch in, int step, int column)
{
    vector_setup_dma(WIDE, BAND_ROWS * sizeof image[0]);
    fetch(in, 2 * step, column);
    fetch(in + WIDE_PLANE, 2 * step + 1, column);
}

static inline void store_step(scratch out, int step, int column)
{
    vector_setup_dma(PLANE, BAND_ROWS * sizeof middle[0]);
    store(out, 2 * step - 4, column);
    store(out + OUT_PLANE, 2 * step - 3, column);
}

static void kernel(void)
{
    struct places at = lay_out();
    for (int column = 0; column < COLUMNS; column += BLOCK) {
        fetch_step(at.in[0], 0, column);
        for (int step = 0; step < STEPS; step++) {
            if (step + 1 < STEPS)
                fetch_step(at.in[1], step + 1, column);
            sort_rows(&at);
            if (step > 0)
                merge_pair(at.odd[0], at.even[2], at.pair[1], at.temporary);
            if (step > 1) {
                medians(at.even[0], at.odd[1], at.pair[0], at.pair[1], at.temporary, at.out[0], at.out[0] + OUT_PLANE);
                store_step(at.out[0], step, column);
            }
            rotate(&at);
        }
    }
}
