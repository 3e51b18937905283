/* Numbers of the kernels: single precision, or with BFLOAT16 bfloat16. */
#ifdef BFLOAT16
typedef __bf16 real_t;
#else
typedef float real_t;
#endif
