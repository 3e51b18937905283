/* The type of elements: integers of 16 bits, or with FLOAT_BITS 16, 32 or 64 floating-point numbers. What stands for
 * operations that integers do not have is here too. */
#include <math.h>
#include <stdint.h>

#ifndef FLOAT_BITS
#define FLOAT_BITS 0
#endif

#ifndef DATA_TYPE
#if FLOAT_BITS == 64
#define DATA_TYPE double
#elif FLOAT_BITS == 32
#define DATA_TYPE float
#elif FLOAT_BITS == 16
#define DATA_TYPE _Float16
#else
#define DATA_TYPE int16_t
#endif
#endif

#if FLOAT_BITS
#define SCALAR(number) ((DATA_TYPE)(number))
#if FLOAT_BITS == 64
static inline DATA_TYPE root(DATA_TYPE v) { return sqrt(v); }
#else
static inline DATA_TYPE root(DATA_TYPE v) { return sqrtf(v); }
#endif
static inline DATA_TYPE nonzero(DATA_TYPE v) { return v; }
#else
static inline DATA_TYPE nonzero(DATA_TYPE v) { return v ? v : 1; }
static inline DATA_TYPE root(DATA_TYPE v) { return (v < 0 ? -v : v) / 16 + 1; } /* in place of sqrt */
#endif
