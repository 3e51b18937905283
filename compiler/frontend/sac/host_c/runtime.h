/* What the C of SA-C programs needs: numbers, arrays with their extents, sections, reductions, input and output.
 *
 * Numbers of integer and fixed-point types are the integers that hold them. Arrays are never changed after they are
 * made, so that they are shared freely; memory is given back when the process ends. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int rank;
    int64_t extents[8], size;
    char kind; /* b, h, w, q: 8 to 64 bits with sign; B, H, W: without; f, d: floating point */
    void *base;
} array;

typedef union { int64_t i; float f; double d; } number;

static void fail(const char *place, const char *reason) {
    fprintf(stderr, "%s: %s\n", place, reason);
    exit(3);
}

static void *allocate(size_t bytes) {
    void *found = malloc(bytes ? bytes : 1);
    if (!found) fail("memory", "exhausted");
    return found;
}

static size_t bytes_of(char kind) {
    switch (kind) { case 'b': case 'B': return 1; case 'h': case 'H': return 2; case 'q': case 'd': return 8; }
    return 4;
}

static array make(char kind, int rank, const int64_t *extents) {
    array made = {rank, {0}, 1, kind, 0};
    for (int k = 0; k < rank; k++) made.size *= made.extents[k] = extents[k];
    made.base = allocate(made.size * bytes_of(kind));
    return made;
}

static number get(const array *a, int64_t k) {
    number n = {0};
    switch (a->kind) {
        case 'b': n.i = ((int8_t *)a->base)[k]; break;
        case 'B': n.i = ((uint8_t *)a->base)[k]; break;
        case 'h': n.i = ((int16_t *)a->base)[k]; break;
        case 'H': n.i = ((uint16_t *)a->base)[k]; break;
        case 'w': n.i = ((int32_t *)a->base)[k]; break;
        case 'W': n.i = ((uint32_t *)a->base)[k]; break;
        case 'q': n.i = ((int64_t *)a->base)[k]; break;
        case 'f': n.f = ((float *)a->base)[k]; break;
        case 'd': n.d = ((double *)a->base)[k]; break;
    }
    return n;
}

static void put(array *a, int64_t k, number n) {
    switch (a->kind) {
        case 'b': case 'B': ((int8_t *)a->base)[k] = (int8_t)n.i; break;
        case 'h': case 'H': ((int16_t *)a->base)[k] = (int16_t)n.i; break;
        case 'w': case 'W': ((int32_t *)a->base)[k] = (int32_t)n.i; break;
        case 'q': ((int64_t *)a->base)[k] = n.i; break;
        case 'f': ((float *)a->base)[k] = n.f; break;
        case 'd': ((double *)a->base)[k] = n.d; break;
    }
}

static number of_i(int64_t v) { number n; n.i = v; return n; }
static number of_f(float v) { number n = {0}; n.f = v; return n; }
static number of_d(double v) { number n; n.d = v; return n; }

/* The low `width` bits as a number with or without sign. */
static int64_t low(uint64_t v, int width, int has_sign) {
    uint64_t mask = width == 64 ? ~0ULL : (1ULL << width) - 1;
    v &= mask;
    return has_sign && v >> (width - 1) ? (int64_t)(v | ~mask) : (int64_t)v;
}

static int64_t shift_left(const char *place, int64_t v, int64_t n, int width, int has_sign) {
    if (n < 0) fail(place, "negative shift");
    return n >= width ? 0 : low((uint64_t)v << n, width, has_sign);
}

static int64_t shift_right(const char *place, int64_t v, int64_t n) {
    if (n < 0) fail(place, "negative shift");
    return v >> (n > 40 ? 40 : n);
}

static int64_t divide(const char *place, int64_t a, int64_t b, int fraction, int width, int has_sign) {
    if (!b) fail(place, "division by zero");
    __int128 q = (__int128)a * ((__int128)1 << fraction) / b;
    return low((uint64_t)q, width, has_sign);
}

static int64_t modulo(const char *place, int64_t a, int64_t b) {
    if (!b) fail(place, "division by zero");
    return a % b;
}

static int64_t multiply(int64_t a, int64_t b, int fraction, int width, int has_sign) {
    return low((uint64_t)((__int128)a * b >> fraction), width, has_sign);
}

static int compare(int64_t a, int fa, int64_t b, int fb) {
    __int128 x = (__int128)a << (32 - fa), y = (__int128)b << (32 - fb);
    return x < y ? -1 : x > y;
}

/* A floating-point number as the integer that holds it, rounded towards 0; NaN and infinities are 0. */
static int64_t from_double(double v, int fraction, int width, int has_sign) {
    if (!isfinite(v)) return 0;
    double scaled = trunc(ldexp(fmod(v, 0x1p64), fraction));
    return low((uint64_t)(int64_t)fmod(scaled, 0x1p62), width, has_sign);
}

/* Elements of `a` at first + step * k for k below count, in each dimension; dimensions with keep 0 are dropped. */
static array section(const array *a, const int64_t *first, const int64_t *step, const int64_t *count, const int *keep) {
    int64_t extents[8], rank = 0, at[8] = {0};
    for (int k = 0; k < a->rank; k++) if (keep[k]) extents[rank++] = count[k];
    array made = make(a->kind, rank, extents);
    for (int64_t n = 0; n < made.size; n++) {
        int64_t place = 0;
        for (int k = 0; k < a->rank; k++) place = place * a->extents[k] + first[k] + step[k] * at[k];
        put(&made, n, get(a, place));
        for (int k = a->rank - 1; k >= 0 && ++at[k] == count[k]; k--) at[k] = 0;
    }
    return made;
}

/* `a` with one number everywhere in a section, or with the elements of `values`. */
static array update_section(const array *a, const array *values, number all, const int64_t *first, const int64_t *step,
                            const int64_t *count) {
    int64_t at[8] = {0}, size = 1;
    array made = make(a->kind, a->rank, a->extents);
    for (int64_t n = 0; n < a->size; n++) put(&made, n, get(a, n));
    for (int k = 0; k < a->rank; k++) size *= count[k];
    for (int64_t n = 0; n < size; n++) {
        int64_t place = 0;
        for (int k = 0; k < a->rank; k++) place = place * a->extents[k] + first[k] + step[k] * at[k];
        put(&made, place, values ? get(values, n) : all);
        for (int k = a->rank - 1; k >= 0 && ++at[k] == count[k]; k--) at[k] = 0;
    }
    return made;
}

static array update_all(const array *a, number all, const int64_t *first, const int64_t *step, const int64_t *count,
                        const int *keep) {
    (void)keep;
    return update_section(a, 0, all, first, step, count);
}

static array update(const char *place, const array *a, const array *values, const int64_t *first, const int64_t *step,
                    const int64_t *count, const int *keep) {
    for (int k = 0, d = 0; k < a->rank; k++)
        if (keep[k] && count[k] != values->extents[d++]) fail(place, "shapes differ");
    return update_section(a, values, (number){0}, first, step, count);
}

static int64_t check_index(const char *place, int64_t index, int64_t extent) {
    if (index < 0 || index >= extent) fail(place, "index outside an array");
    return index;
}

static int64_t section_count(const char *place, int64_t lowest, int64_t highest, int64_t step, int64_t extent) {
    if (step <= 0) fail(place, "step of a section");
    if (highest < lowest) return 0;
    int64_t count = 1 + (highest - lowest) / step;
    if (lowest < 0 || lowest + step * (count - 1) >= extent) fail(place, "section outside an array");
    return count;
}

static int64_t windows_in(const char *place, int64_t extent, int64_t size, int64_t step) {
    if (size <= 0 || step <= 0) fail(place, "size or step");
    return extent < size ? 0 : 1 + (extent - size) / step;
}

static int64_t span_count(const char *place, int64_t lowest, int64_t highest, int64_t step) {
    if (step <= 0) fail(place, "step");
    return highest < lowest ? 0 : 1 + (highest - lowest) / step;
}

static array concatenate(const char *place, const array *a, const array *b, int axis) {
    int64_t extents[8], inner = 1;
    for (int k = 0; k < a->rank; k++) {
        if (k != axis && a->extents[k] != b->extents[k]) fail(place, "shapes differ");
        extents[k] = a->extents[k] + (k == axis ? b->extents[k] : 0);
        if (k > axis) inner *= a->extents[k];
    }
    array made = make(a->kind, a->rank, extents);
    int64_t left = a->extents[axis] * inner, right = b->extents[axis] * inner, row = left + right;
    for (int64_t n = 0; n < made.size; n++)
        put(&made, n, n % row < left ? get(a, n / row * left + n % row) : get(b, n / row * right + n % row - left));
    return made;
}

static array perimeter(const array *a, int64_t width, number value) {
    int64_t extents[8];
    for (int k = 0; k < a->rank; k++) extents[k] = a->extents[k] + 2 * width;
    array made = make(a->kind, a->rank, extents);
    for (int64_t n = 0; n < made.size; n++) {
        int64_t rest = n, place = 0, stride = 1, inside = 1;
        for (int k = a->rank - 1; k >= 0; k--) {
            int64_t at = rest % extents[k] - width;
            rest /= extents[k];
            inside &= at >= 0 && at < a->extents[k];
            place += at * stride;
            stride *= a->extents[k];
        }
        put(&made, n, inside ? get(a, place) : value);
    }
    return made;
}

static array fill_like(const array *a, char kind, number value) {
    array made = make(kind, a->rank, a->extents);
    for (int64_t n = 0; n < made.size; n++) put(&made, n, value);
    return made;
}

static void check_extent(const char *place, const array *a, int axis, int64_t wanted) {
    if (a->extents[axis] != wanted) fail(place, "extent of an array");
}

/* What a loop collects: numbers, or arrays, one for each iteration. */
typedef struct { int64_t count, room; number *items; } numbers;
typedef struct { int64_t count, room; array *items; } arrays;

static void add_number(numbers *l, number n) {
    if (l->count == l->room) l->items = realloc(l->items, (l->room = 2 * l->room + 8) * sizeof(number));
    l->items[l->count++] = n;
}

static void add_array(arrays *l, array a) {
    if (l->count == l->room) l->items = realloc(l->items, (l->room = 2 * l->room + 8) * sizeof(array));
    l->items[l->count++] = a;
}

static array collect_numbers(const numbers *l, char kind, int rank, const int64_t *extents) {
    array made = make(kind, rank, extents);
    for (int64_t n = 0; n < made.size; n++) put(&made, n, l->items[n]);
    return made;
}

/* Arrays of one shape behind each other; of no iterations the shape is `wanted`, with 0 for what is unknown. */
static array collect_arrays(const char *place, const arrays *l, char kind, int rank, const int64_t *extents,
                            int component_rank, const int64_t *wanted) {
    int64_t shape[8];
    const int64_t *component = l->count ? l->items[0].extents : wanted;
    for (int k = 0; k < rank; k++) shape[k] = extents[k];
    for (int k = 0; k < component_rank; k++) shape[rank + k] = component[k];
    array made = make(kind, rank + component_rank, shape);
    for (int64_t n = 0, at = 0; n < l->count; n++) {
        if (memcmp(l->items[n].extents, component, component_rank * sizeof *component)) fail(place, "shapes differ");
        for (int64_t k = 0; k < l->items[n].size; k++) put(&made, at++, get(&l->items[n], k));
    }
    return made;
}

static array tile(const array *collected, int loop_rank, int component_rank) {
    int rank = loop_rank > component_rank ? loop_rank : component_rank;
    int64_t outer[8], inner[8], extents[8];
    for (int k = 0; k < rank; k++) {
        int o = k - (rank - loop_rank), i = k - (rank - component_rank);
        outer[k] = o < 0 ? 1 : collected->extents[o];
        inner[k] = i < 0 ? 1 : collected->extents[loop_rank + i];
        extents[k] = outer[k] * inner[k];
    }
    array made = make(collected->kind, rank, extents);
    for (int64_t n = 0; n < made.size; n++) {
        int64_t rest = n, o = 0, i = 0, os = 1, is = 1;
        for (int k = rank - 1; k >= 0; k--) {
            int64_t at = rest % extents[k];
            rest /= extents[k];
            o += at / inner[k] * os, i += at % inner[k] * is;
            os *= outer[k], is *= inner[k];
        }
        put(&made, n, get(collected, o * is + i));
    }
    return made;
}

static array join(const char *place, const arrays *l, char kind, int rank, const int64_t *wanted) {
    if (!l->count) return make(kind, rank, wanted);
    array made = l->items[0];
    for (int64_t n = 1; n < l->count; n++) made = concatenate(place, &made, &l->items[n], rank - 1);
    return made;
}

/* A type of numbers: kind i (integers and fixed point), f or d. */
typedef struct { char kind; int width, fraction, has_sign; } type;

static double modf_fraction(double x) { double whole; return modf(x, &whole); }
static double modf_whole(double x) { double whole; modf(x, &whole); return whole; }
static double frexp_fraction(double x) { int exponent; return frexp(x, &exponent); }
static double frexp_exponent(double x) { int exponent; frexp(x, &exponent); return exponent; }

static double as_double(number n, type t) {
    return t.kind == 'i' ? ldexp((double)n.i, -t.fraction) : t.kind == 'f' ? n.f : n.d;
}

static number from(double v, type t) {
    return t.kind == 'i' ? of_i(from_double(v, t.fraction, t.width, t.has_sign)) : t.kind == 'f' ? of_f(v) : of_d(v);
}

static int order(number a, number b, type t) {
    if (t.kind == 'i') return (a.i > b.i) - (a.i < b.i);
    double x = as_double(a, t), y = as_double(b, t);
    return (x > y) - (x < y);
}

static number sum_of(const number *v, int64_t count, type t) {
    int64_t whole = 0;
    float single = 0;
    double both = 0;
    for (int64_t n = 0; n < count; n++) whole += t.kind == 'i' ? v[n].i : 0, single += v[n].f, both += v[n].d;
    return t.kind == 'i' ? of_i(low(whole, t.width, t.has_sign)) : t.kind == 'f' ? of_f(single) : of_d(both);
}

static number mean_of(const number *v, int64_t count, type t) {
    if (t.kind == 'f') return of_f(sum_of(v, count, t).f / (float)count);
    if (t.kind == 'd') return of_d(sum_of(v, count, t).d / (double)count);
    int64_t whole = 0;
    for (int64_t n = 0; n < count; n++) whole += v[n].i;
    return of_i(low(whole / count, t.width, t.has_sign));
}

static number deviation_of(const number *v, int64_t count, type t) {
    double sum = 0, squares = 0;
    for (int64_t n = 0; n < count; n++) sum += as_double(v[n], t);
    double mean = sum / (double)count;
    for (int64_t n = 0; n < count; n++) squares += (as_double(v[n], t) - mean) * (as_double(v[n], t) - mean);
    return from(sqrt(squares / (double)count), t);
}

static number *sorted(const number *v, int64_t count, type t) {
    number *s = allocate(count * sizeof *s);
    for (int64_t n = 0; n < count; n++) {
        int64_t k = n;
        for (; k && order(s[k - 1], v[n], t) > 0; k--) s[k] = s[k - 1];
        s[k] = v[n];
    }
    return s;
}

static number median_of(const number *v, int64_t count, type t) {
    number *s = sorted(v, count, t);
    return count % 2 ? s[count / 2] : mean_of(s + count / 2 - 1, 2, t);
}

static number mode_of(const number *v, int64_t count, type t) {
    number *s = sorted(v, count, t), best = s[0];
    for (int64_t n = 0, run = 0, most = 0; n < count; n++) {
        run = n && !order(s[n - 1], s[n], t) ? run + 1 : 1;
        if (run > most) most = run, best = s[n];
    }
    return best;
}

static number extreme_of(const number *v, int64_t count, type t, int sign) {
    int64_t least = t.has_sign ? -(int64_t)(1ULL << (t.width - 1)) : 0;
    int64_t most = (int64_t)((1ULL << (t.width - t.has_sign)) - 1);
    number best = t.kind == 'f' ? of_f(-sign * INFINITY) : t.kind == 'd' ? of_d(-sign * (double)INFINITY)
        : of_i(sign < 0 ? most : least);
    for (int64_t n = 0; n < count; n++) if (sign * order(v[n], best, t) > 0) best = v[n];
    return best;
}

/* One reduction by its letter: S P m M & | a s d o (sum, product, min, max, and, or, mean, st_dev, median, mode). */
static number reduce(char which, const number *v, int64_t count, type t) {
    number r;
    switch (which) {
        case 'S': return sum_of(v, count, t);
        case 'm': return extreme_of(v, count, t, -1);
        case 'M': return extreme_of(v, count, t, 1);
        case 'P':
            r = t.kind == 'i' ? of_i(1LL << t.fraction) : t.kind == 'f' ? of_f(1) : of_d(1);
            for (int64_t n = 0; n < count; n++)
                r = t.kind == 'i' ? of_i(multiply(r.i, v[n].i, t.fraction, t.width, t.has_sign))
                    : t.kind == 'f' ? of_f(r.f * v[n].f) : of_d(r.d * v[n].d);
            return r;
        case '&':
            r = of_i(low(~0ULL, t.width, t.has_sign));
            for (int64_t n = 0; n < count; n++) r.i &= v[n].i;
            return r;
        case '|':
            r = of_i(0);
            for (int64_t n = 0; n < count; n++) r.i |= v[n].i;
            return r;
    }
    if (!count) return t.kind == 'f' ? of_f(0) : t.kind == 'd' ? of_d(0) : of_i(0);
    switch (which) {
        case 'a': return mean_of(v, count, t);
        case 's': return deviation_of(v, count, t);
        case 'd': return median_of(v, count, t);
    }
    return mode_of(v, count, t);
}

static array histogram(const char *place, const number *v, int64_t count, int64_t extent) {
    array made = make('W', 1, &extent);
    memset(made.base, 0, 4 * extent);
    for (int64_t n = 0; n < count; n++) {
        if (v[n].i < 0 || v[n].i >= extent) fail(place, "label outside the result");
        ((uint32_t *)made.base)[v[n].i]++;
    }
    return made;
}

/* A reduction for each label; `which` H counts into rows of `bins`. */
static array accumulate(const char *place, char which, const numbers *v, const numbers *labels, int64_t extent,
                        int64_t bins, type t, char kind) {
    int64_t shape[2] = {extent, bins};
    array made = make(kind, which == 'H' ? 2 : 1, shape);
    number *taken = allocate(v->count * sizeof *taken);
    for (int64_t n = 0; n < labels->count; n++)
        if (labels->items[n].i < 0 || labels->items[n].i >= extent) fail(place, "label outside the result");
    for (int64_t label = 0; label < extent; label++) {
        int64_t count = 0;
        for (int64_t n = 0; n < v->count; n++) if (labels->items[n].i == label) taken[count++] = v->items[n];
        if (which == 'H') {
            array row = histogram(place, taken, count, bins);
            for (int64_t k = 0; k < bins; k++) put(&made, label * bins + k, get(&row, k));
        } else put(&made, label, reduce(which, taken, count, t));
    }
    return made;
}

/* Rows of `columns` captures at the iterations with the extreme value: all, the first, or the last. */
static array values_at(const char *place, const numbers *v, const numbers *captures, int64_t columns, type t, int sign,
                       char which, char kind, int as_row) {
    numbers found = {0};
    number best = extreme_of(v->items, v->count, t, sign);
    int64_t rows = 0;
    for (int64_t n = 0; n < v->count; n++) {
        if (order(v->items[n], best, t) || (which == 'f' && rows)) continue;
        if (which == 'l') found.count = rows = 0;
        for (int64_t k = 0; k < columns; k++) add_number(&found, captures->items[n * columns + k]);
        rows++;
    }
    if (which != 'a' && !rows) fail(place, "no iteration is taken");
    int64_t shape[2] = {rows, columns};
    return which == 'a' ? collect_numbers(&found, kind, 1 + as_row, shape)
                        : collect_numbers(&found, kind, as_row, shape + 1);
}

static number read_number(char kind) {
    number n = {0};
    if (fread(&n, kind == 'f' ? 4 : 8, 1, stdin) != 1) fail("input", "too short");
    return n;
}

static array read_array(char kind, int rank) {
    int64_t extents[8];
    if (fread(extents, 8, rank, stdin) != (size_t)rank) fail("input", "too short");
    array made = make(kind, rank, extents);
    for (int64_t n = 0; n < made.size; n++) put(&made, n, read_number(kind));
    return made;
}

static void write_number(number n, char kind) { fwrite(&n, kind == 'f' ? 4 : 8, 1, stdout); }

static void write_array(const array *a) {
    fwrite(a->extents, 8, a->rank, stdout);
    char kind = a->kind == 'f' || a->kind == 'd' ? a->kind : 'q';
    for (int64_t n = 0; n < a->size; n++) write_number(get(a, n), kind);
}
