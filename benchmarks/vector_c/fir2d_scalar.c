/* The filter of fir2d.c in plain C. */
#include "scalar.h"

element image[ROWS][COLUMNS] ALIGNED, filtered[ROWS][COLUMNS] ALIGNED, c[3][3] ALIGNED;

static void kernel(void)
{
    for (int l = 0; l < ROWS - 3; l++) {
        for (int k = 0; k < COLUMNS - 3; k++) {
            int32_t sum = 0;
            for (int j = 0; j < 3; j++)
                for (int i = 0; i < 3; i++)
                    sum += image[l + j][k + i] * c[j][i];
            filtered[l][k] = (element)((element)sum >> 8);
        }
    }
}
