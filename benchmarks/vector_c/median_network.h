/* Selection networks of median.c, written by `python -m benchmarks.vector_median`.
 * Letters are groups of planes; plane i of a group is i * PLANE bytes behind its start.
 * RESULT writes what leaves. */
#ifndef MEDIAN_NETWORK_H
#define MEDIAN_NETWORK_H

/* 8 operations, 3 temporary planes. */
#define SORT_ROW_TEMPORARIES 3
static inline void sort_row(scratch c, scratch e, scratch o, scratch s, scratch t)
{
    COMPARE(VMIN, t + 0 * PLANE, o + 0 * PLANE, e + 1 * PLANE);
    COMPARE(VMAX, t + 1 * PLANE, o + 0 * PLANE, e + 1 * PLANE);
    COMPARE(VMIN, t + 2 * PLANE, c + 0 * PLANE, t + 1 * PLANE);
    COMPARE(VMAX, t + 1 * PLANE, c + 0 * PLANE, t + 1 * PLANE);
    COMPARE(VMIN, s + 1 * PLANE, t + 0 * PLANE, t + 2 * PLANE);
    COMPARE(VMAX, s + 2 * PLANE, t + 0 * PLANE, t + 2 * PLANE);
    COMPARE(VMIN, s + 3 * PLANE, o + 1 * PLANE, t + 1 * PLANE);
    COMPARE(VMAX, s + 4 * PLANE, o + 1 * PLANE, t + 1 * PLANE);
}

/* 26 operations, 9 temporary planes. */
#define MERGE_PAIR_TEMPORARIES 9
static inline void merge_pair(scratch a, scratch b, scratch p, scratch t)
{
    COMPARE(VMIN, p + 0 * PLANE, a + 0 * PLANE, b + 0 * PLANE);
    COMPARE(VMAX, t + 0 * PLANE, a + 0 * PLANE, b + 0 * PLANE);
    COMPARE(VMIN, t + 1 * PLANE, a + 4 * PLANE, b + 4 * PLANE);
    COMPARE(VMAX, p + 9 * PLANE, a + 4 * PLANE, b + 4 * PLANE);
    COMPARE(VMIN, t + 2 * PLANE, a + 2 * PLANE, b + 2 * PLANE);
    COMPARE(VMAX, t + 3 * PLANE, a + 2 * PLANE, b + 2 * PLANE);
    COMPARE(VMIN, t + 4 * PLANE, a + 1 * PLANE, b + 1 * PLANE);
    COMPARE(VMAX, t + 5 * PLANE, a + 1 * PLANE, b + 1 * PLANE);
    COMPARE(VMIN, t + 6 * PLANE, a + 3 * PLANE, b + 3 * PLANE);
    COMPARE(VMAX, t + 7 * PLANE, a + 3 * PLANE, b + 3 * PLANE);
    COMPARE(VMIN, t + 8 * PLANE, t + 1 * PLANE, t + 0 * PLANE);
    COMPARE(VMAX, t + 0 * PLANE, t + 1 * PLANE, t + 0 * PLANE);
    COMPARE(VMIN, t + 1 * PLANE, t + 6 * PLANE, t + 5 * PLANE);
    COMPARE(VMAX, t + 5 * PLANE, t + 6 * PLANE, t + 5 * PLANE);
    COMPARE(VMIN, t + 6 * PLANE, t + 2 * PLANE, t + 8 * PLANE);
    COMPARE(VMAX, t + 2 * PLANE, t + 2 * PLANE, t + 8 * PLANE);
    COMPARE(VMIN, t + 8 * PLANE, t + 3 * PLANE, t + 0 * PLANE);
    COMPARE(VMAX, t + 0 * PLANE, t + 3 * PLANE, t + 0 * PLANE);
    COMPARE(VMIN, p + 1 * PLANE, t + 4 * PLANE, t + 6 * PLANE);
    COMPARE(VMAX, p + 2 * PLANE, t + 4 * PLANE, t + 6 * PLANE);
    COMPARE(VMIN, p + 3 * PLANE, t + 1 * PLANE, t + 2 * PLANE);
    COMPARE(VMAX, p + 4 * PLANE, t + 1 * PLANE, t + 2 * PLANE);
    COMPARE(VMIN, p + 5 * PLANE, t + 5 * PLANE, t + 8 * PLANE);
    COMPARE(VMAX, p + 6 * PLANE, t + 5 * PLANE, t + 8 * PLANE);
    COMPARE(VMIN, p + 7 * PLANE, t + 7 * PLANE, t + 0 * PLANE);
    COMPARE(VMAX, p + 8 * PLANE, t + 7 * PLANE, t + 0 * PLANE);
}

/* 56 operations, 13 temporary planes. */
#define MEDIANS_TEMPORARIES 13
static inline void medians(scratch a, scratch b, scratch p, scratch q, scratch t, scratch x, scratch y)
{
    COMPARE(VMAX, t + 0 * PLANE, p + 0 * PLANE, q + 0 * PLANE);
    COMPARE(VMIN, t + 1 * PLANE, p + 8 * PLANE, q + 8 * PLANE);
    COMPARE(VMIN, t + 2 * PLANE, p + 4 * PLANE, q + 4 * PLANE);
    COMPARE(VMAX, t + 3 * PLANE, p + 4 * PLANE, q + 4 * PLANE);
    COMPARE(VMAX, t + 4 * PLANE, p + 2 * PLANE, q + 2 * PLANE);
    COMPARE(VMIN, t + 5 * PLANE, p + 6 * PLANE, q + 6 * PLANE);
    COMPARE(VMAX, t + 6 * PLANE, p + 1 * PLANE, q + 1 * PLANE);
    COMPARE(VMIN, t + 7 * PLANE, p + 9 * PLANE, q + 9 * PLANE);
    COMPARE(VMIN, t + 8 * PLANE, p + 5 * PLANE, q + 5 * PLANE);
    COMPARE(VMAX, t + 9 * PLANE, p + 5 * PLANE, q + 5 * PLANE);
    COMPARE(VMAX, t + 10 * PLANE, p + 3 * PLANE, q + 3 * PLANE);
    COMPARE(VMIN, t + 11 * PLANE, p + 7 * PLANE, q + 7 * PLANE);
    COMPARE(VMIN, t + 12 * PLANE, t + 1 * PLANE, t + 0 * PLANE);
    COMPARE(VMAX, t + 0 * PLANE, t + 1 * PLANE, t + 0 * PLANE);
    COMPARE(VMIN, t + 1 * PLANE, t + 5 * PLANE, t + 4 * PLANE);
    COMPARE(VMAX, t + 4 * PLANE, t + 5 * PLANE, t + 4 * PLANE);
    COMPARE(VMIN, t + 5 * PLANE, t + 7 * PLANE, t + 6 * PLANE);
    COMPARE(VMAX, t + 6 * PLANE, t + 7 * PLANE, t + 6 * PLANE);
    COMPARE(VMIN, t + 7 * PLANE, t + 11 * PLANE, t + 10 * PLANE);
    COMPARE(VMAX, t + 10 * PLANE, t + 11 * PLANE, t + 10 * PLANE);
    COMPARE(VMAX, t + 2 * PLANE, t + 2 * PLANE, t + 12 * PLANE);
    COMPARE(VMIN, t + 0 * PLANE, t + 3 * PLANE, t + 0 * PLANE);
    COMPARE(VMAX, t + 3 * PLANE, t + 8 * PLANE, t + 5 * PLANE);
    COMPARE(VMIN, t + 5 * PLANE, t + 9 * PLANE, t + 6 * PLANE);
    COMPARE(VMAX, t + 1 * PLANE, t + 1 * PLANE, t + 2 * PLANE);
    COMPARE(VMIN, t + 2 * PLANE, t + 4 * PLANE, t + 0 * PLANE);
    COMPARE(VMAX, t + 0 * PLANE, t + 4 * PLANE, t + 0 * PLANE);
    COMPARE(VMIN, t + 4 * PLANE, t + 7 * PLANE, t + 3 * PLANE);
    COMPARE(VMAX, t + 3 * PLANE, t + 7 * PLANE, t + 3 * PLANE);
    COMPARE(VMIN, t + 5 * PLANE, t + 10 * PLANE, t + 5 * PLANE);
    COMPARE(VMIN, t + 6 * PLANE, t + 4 * PLANE, t + 1 * PLANE);
    COMPARE(VMAX, t + 1 * PLANE, t + 4 * PLANE, t + 1 * PLANE);
    COMPARE(VMIN, t + 4 * PLANE, t + 3 * PLANE, t + 2 * PLANE);
    COMPARE(VMAX, t + 2 * PLANE, t + 3 * PLANE, t + 2 * PLANE);
    COMPARE(VMIN, t + 3 * PLANE, t + 5 * PLANE, t + 0 * PLANE);
    COMPARE(VMAX, t + 0 * PLANE, t + 5 * PLANE, t + 0 * PLANE);
    COMPARE(VMAX, t + 5 * PLANE, t + 6 * PLANE, a + 0 * PLANE);
    COMPARE(VMIN, t + 7 * PLANE, t + 3 * PLANE, a + 4 * PLANE);
    COMPARE(VMAX, t + 8 * PLANE, t + 4 * PLANE, a + 2 * PLANE);
    COMPARE(VMAX, t + 9 * PLANE, t + 1 * PLANE, a + 1 * PLANE);
    COMPARE(VMIN, t + 10 * PLANE, t + 2 * PLANE, a + 3 * PLANE);
    COMPARE(VMAX, t + 6 * PLANE, t + 6 * PLANE, b + 0 * PLANE);
    COMPARE(VMIN, t + 3 * PLANE, t + 3 * PLANE, b + 4 * PLANE);
    COMPARE(VMAX, t + 4 * PLANE, t + 4 * PLANE, b + 2 * PLANE);
    COMPARE(VMAX, t + 1 * PLANE, t + 1 * PLANE, b + 1 * PLANE);
    COMPARE(VMIN, t + 2 * PLANE, t + 2 * PLANE, b + 3 * PLANE);
    COMPARE(VMAX, t + 5 * PLANE, t + 7 * PLANE, t + 5 * PLANE);
    COMPARE(VMIN, t + 7 * PLANE, t + 0 * PLANE, t + 9 * PLANE);
    COMPARE(VMAX, t + 3 * PLANE, t + 3 * PLANE, t + 6 * PLANE);
    COMPARE(VMIN, t + 0 * PLANE, t + 0 * PLANE, t + 1 * PLANE);
    COMPARE(VMIN, t + 1 * PLANE, t + 8 * PLANE, t + 5 * PLANE);
    COMPARE(VMAX, t + 5 * PLANE, t + 10 * PLANE, t + 7 * PLANE);
    COMPARE(VMIN, t + 3 * PLANE, t + 4 * PLANE, t + 3 * PLANE);
    COMPARE(VMAX, t + 0 * PLANE, t + 2 * PLANE, t + 0 * PLANE);
    RESULT(VMIN, x + 0 * PLANE, t + 5 * PLANE, t + 1 * PLANE);
    RESULT(VMIN, y + 0 * PLANE, t + 0 * PLANE, t + 3 * PLANE);
}

#endif
