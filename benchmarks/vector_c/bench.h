/* What all benchmarks share: the element type, the modes for it, and main().
 *
 * ELEMENT is 4, 2 or 1 bytes, given by the compiler's command line; so are the sizes of the data. VECTOR_LANES comes
 * from vector.h. Transfers are queued ahead of the instructions that need them: the hardware orders them by addresses.
 */
#ifndef BENCH_H
#define BENCH_H

#include "soc.h"
#include "vector.h"

#if ELEMENT == 4
typedef int32_t element;
typedef uint32_t natural;
#define MODE(sources) sources##W
#elif ELEMENT == 2
typedef int16_t element;
typedef uint16_t natural;
#define MODE(sources) sources##H
#else
typedef int8_t element;
typedef uint8_t natural;
#define MODE(sources) sources##B
#endif

#define MODE_U(sources) (MODE(sources) & ~VECTOR_SIGNED)

/* Scratchpad pointers are byte addresses. */
typedef uint32_t scratch;

static inline scratch allocate(uint32_t bytes)
{
    return (scratch)vector_malloc(bytes);
}

#define MIN(a, b) ((a) < (b) ? (a) : (b))

/* The part whose cycles count. A program that defines PREPARED moves its data before and after that. */
static void kernel(void);
#ifdef PREPARED
static void prepare(void);
static void conclude(void);
#else
#define prepare()
#define conclude()
#endif

int main(void)
{
    prepare();
    kernel_begin();
    kernel();
    vector_sync();
    kernel_end();
    conclude();
    return 0;
}

#endif
