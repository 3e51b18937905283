"""Small C programs with recurrences that only an outer loop carries: the next iteration waits, steps inside do not."""

from __future__ import annotations

__all__ = ["PROGRAMS", "SHAPES"]

SHAPES = {"a": (8, 8), "y": (8, 8)}

_HEAD = "#include <stdint.h>\nvoid f(const int16_t a[8][8], int16_t y[8][8])\n{\n#pragma scop\n"
_TAIL = "#pragma endscop\n}\n"

PROGRAMS = {
    "reversed_rows": _HEAD + """
for (int j = 0; j < 8; j++)
  y[0][j] = a[0][j];
for (int i = 1; i < 8; i++)
  for (int j = 0; j < 8; j++)
    y[i][j] = (y[i - 1][7 - j] ^ a[i][j]) * 3 + 1;
""" + _TAIL,
    "pivots": _HEAD + """
for (int i = 0; i < 8; i++)
  for (int j = 0; j < 8; j++)
    y[i][j] = a[i][j];
for (int k = 1; k < 8; k++)
  for (int j = 0; j < 8; j++)
    y[k][j] = a[k][j] - (y[k - 1][7] * 5 ^ y[k - 1][j]);
""" + _TAIL,
}
"""The first one reads the row before from its end, the second one the last element of that row in every step."""
