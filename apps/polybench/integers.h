/* The type of elements, and what stands for operations that integers do not have. */
#include <stdint.h>

#ifndef DATA_TYPE
#define DATA_TYPE int16_t
#endif

static inline DATA_TYPE nonzero(DATA_TYPE v) { return v ? v : 1; }
static inline DATA_TYPE root(DATA_TYPE v) { return (v < 0 ? -v : v) / 16 + 1; } /* in place of sqrt */
