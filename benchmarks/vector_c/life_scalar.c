/* The generation of life.c in plain C. */
#include "scalar.h"

natural cells[ROWS][COLUMNS] ALIGNED, next_cells[ROWS][COLUMNS] ALIGNED;

static natural cell(int row, int column)
{
    return row < 0 || column < 0 || row >= ROWS || column >= COLUMNS ? 0 : cells[row][column];
}

static int inner(const natural *at)
{
    return at[-COLUMNS - 1] + at[-COLUMNS] + at[-COLUMNS + 1] + at[-1] + at[1] + at[COLUMNS - 1] + at[COLUMNS]
        + at[COLUMNS + 1];
}

static int border(int row, int column)
{
    int sum = 0;
    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++)
            sum += cell(row + j, column + i);
    return sum - cell(row, column);
}

static void kernel(void)
{
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0; column < COLUMNS; column++) {
            int edge = row == 0 || column == 0 || row == ROWS - 1 || column == COLUMNS - 1;
            int neighbours = edge ? border(row, column) : inner(&cells[row][column]);
            next_cells[row][column] = neighbours == 3 || (cells[row][column] && neighbours == 2);
        }
    }
}
