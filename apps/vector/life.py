"""One generation of Conway's game of life; cells are 0 or 1, and nothing lives outside the board."""

from compiler.frontend import parallel_array as pa


def build(rows: int = 256, columns: int = 256, dtype: str = "uint32") -> pa.ArrayProgram:
    """A cell lives on if it has three neighbours, or lives and has two."""
    cells = pa.input("cells", (rows, columns), dtype, low=0, high=1)
    dead = pa.default(0)
    padded = cells.section((-1, -1), (rows + 2, columns + 2), boundary=dead)
    outer = padded[:-2] + padded[2:]
    columns_of_three = outer + padded[1:-1]
    neighbours = columns_of_three[:, :-2] + columns_of_three[:, 2:] + outer[:, 1:-1]
    return pa.program("life", next=((neighbours | cells) == 3).astype(dtype))
