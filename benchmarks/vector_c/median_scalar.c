/* The median of median.c in plain C: the smaller half is sorted out of the window's 25 values. */
#include "scalar.h"

#define WINDOW 5
#define COUNT (WINDOW * WINDOW)

natural image[ROWS + WINDOW - 1][COLUMNS + WINDOW - 1] ALIGNED, middle[ROWS][COLUMNS] ALIGNED;

static natural median(const natural *corner)
{
    natural value[COUNT];
    for (int j = 0; j < WINDOW; j++)
        for (int i = 0; i < WINDOW; i++)
            value[j * WINDOW + i] = corner[j * (COLUMNS + WINDOW - 1) + i];
    for (int j = 0; j <= COUNT / 2; j++) {
        for (int i = j + 1; i < COUNT; i++) {
            if (value[i] < value[j]) {
                natural swap = value[i];
                value[i] = value[j];
                value[j] = swap;
            }
        }
    }
    return value[COUNT / 2];
}

static void kernel(void)
{
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < COLUMNS; x++)
            middle[y][x] = median(&image[y][x]);
}
