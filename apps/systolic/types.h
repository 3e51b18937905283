/* Elements of the kernels: DATA_BITS is 8, 16 or 32; sums are kept in 32 bits, of 32-bit elements in 64. */
#include <stdint.h>

#ifndef DATA_BITS
#define DATA_BITS 8
#endif

#if DATA_BITS == 8
typedef int8_t data_t;
typedef int32_t sum_t;
#elif DATA_BITS == 16
typedef int16_t data_t;
typedef int32_t sum_t;
#else
typedef int32_t data_t;
typedef int64_t sum_t;
#endif
