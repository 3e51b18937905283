/* The search of motest.c in plain C. */
#include "scalar.h"

#define SIDE 16

natural block[SIDE][SIDE] ALIGNED, window[2 * SIDE][2 * SIDE] ALIGNED;
uint32_t sad[SIDE][SIDE] ALIGNED;

static void kernel(void)
{
    for (int l = 0; l < SIDE; l++) {
        for (int k = 0; k < SIDE; k++) {
            uint32_t sum = 0;
            for (int j = 0; j < SIDE; j++) {
                for (int i = 0; i < SIDE; i++) {
                    int32_t difference = (int32_t)block[j][i] - (int32_t)window[l + j][k + i];
                    sum += difference < 0 ? -difference : difference;
                }
            }
            sad[l][k] = sum;
        }
    }
}
