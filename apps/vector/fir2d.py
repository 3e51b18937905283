"""Two-dimensional filter: out[l, k] = (sum over j, i of c[j, i] * in[l + j, k + i]) >> shift."""

from collections.abc import Sequence

from compiler.frontend import parallel_array as pa

COEFFICIENTS = ((16, 32, 16), (32, 64, 32), (16, 32, 16))


def build(rows: int = 240, columns: int = 320, coefficients: Sequence[Sequence[int]] = COEFFICIENTS, shift: int = 8,
          dtype: str = "int32") -> pa.ArrayProgram:
    """`rows` x `columns` in; out as many less as the filter has rows and columns. Sums wrap at the element type."""
    image = pa.input("image", (rows, columns), dtype)
    height, width = rows - len(coefficients), columns - len(coefficients[0])
    total = sum(c * image[j:j + height, i:i + width] for j, row in enumerate(coefficients) for i, c in enumerate(row))
    return pa.program("fir2d", filtered=total >> shift)
