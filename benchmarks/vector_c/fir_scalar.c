/* The filter of fir.c in plain C. */
#include "scalar.h"

#define TAPS 16

element x[N + TAPS] ALIGNED, y[N] ALIGNED, h[TAPS] ALIGNED;

static void kernel(void)
{
    for (int j = 0; j < N; j++) {
        int32_t sum = 0;
        for (int i = 0; i < TAPS; i++)
            sum += x[j + i] * h[i];
        y[j] = (element)sum;
    }
}
