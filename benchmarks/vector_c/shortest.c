/* The shortest program that loads, computes and stores: an element each. Any other takes as long, beside the wavefronts
 * that it has more: the lanes begin when something has been loaded, and what they compute last has to be stored. */
#include "bench.h"

element x[1] ALIGNED, y[1] ALIGNED;

static void kernel(void)
{
    vector_dma_to_vector(0, x, sizeof x);
    vector_set_vl(1);
    vector(MODE(SV), VADD, sizeof x, 1, 0);
    vector_dma_to_host(y, sizeof x, sizeof y);
}
