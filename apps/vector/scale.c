/* A program written by hand: three times a hundred numbers. */
#include <stdio.h>
#include "soc.h"
#include "vector.h"

#define N 100

int16_t numbers[N] ALIGNED, scaled[N] ALIGNED;

int main(void)
{
    for (int i = 0; i < N; i++)
        numbers[i] = i;

    int16_t *v = vector_malloc(sizeof numbers);
    kernel_begin();
    vector_dma_to_vector(v, numbers, sizeof numbers);
    vector_set_vl(N);
    vector(SVH, VMUL, v, 3, v);
    vector_dma_to_host(scaled, v, sizeof scaled);
    vector_wait_for_dma();
    kernel_end();

    flush_cache_all();
    printf("%d ... %d\n", scaled[1], scaled[N - 1]);
    return 0;
}
