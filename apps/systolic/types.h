/* Elements of the kernels: DATA_BITS is 8, 16 or 32; sums are kept in 32 bits, of 32-bit elements in 64. With FLOAT_BITS
   16, 32 or 64 elements and sums are floating-point numbers. */
#include <stdint.h>

#ifndef FLOAT_BITS
#define FLOAT_BITS 0
#endif

#ifndef DATA_BITS
#define DATA_BITS 8
#endif

#if FLOAT_BITS == 16
typedef _Float16 data_t;
typedef _Float16 sum_t;
#elif FLOAT_BITS == 32
typedef float data_t;
typedef float sum_t;
#elif FLOAT_BITS == 64
typedef double data_t;
typedef double sum_t;
#elif DATA_BITS == 8
typedef int8_t data_t;
typedef int32_t sum_t;
#elif DATA_BITS == 16
typedef int16_t data_t;
typedef int32_t sum_t;
#else
typedef int32_t data_t;
typedef int64_t sum_t;
#endif
