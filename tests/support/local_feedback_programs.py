"""Programs whose recurrences are one operation each, a step per cycle inside a processing element of the array."""

from __future__ import annotations

from compiler.frontend.c_scop import parse_scop
from compiler.ir.program import Program

__all__ = ["LOCAL", "local", "running_sums"]

_STREAM = """void stream(const short x[24], const short w[24], short y[24]) {
#pragma scop
  short s = %s;
  for (int i = 0; i < 24; i++) {
    s = %s;
    y[i] = s;
  }
#pragma endscop
}
"""

LOCAL: dict[str, str] = {
    "sum": _STREAM % ("0", "s + x[i]"),
    "difference": _STREAM % ("100", "x[i] - s"),
    "minimum": _STREAM % ("32767", "s < x[i] ? s : x[i]"),
    "maximum": _STREAM % ("-32768", "s > x[i] ? s : x[i]"),
    "products": _STREAM % ("0", "s + x[i] * w[i]"),
    "hold": _STREAM % ("-1", "w[i] > 0 ? x[i] : s"),
    "parity": _STREAM % ("0", "s ^ x[i]"),
    "shift": _STREAM % ("32767", "s >> (w[i] & 1)"),
    "first of each row": """void rows(const short x[6][8], short y[6][8]) {
#pragma scop
  for (int i = 0; i < 6; i++) {
    short s = x[i][7];
    for (int j = 0; j < 8; j++) {
      s = s + x[i][j];
      y[i][j] = s;
    }
  }
#pragma endscop
}
""",
    "product of a matrix and a vector": """void product(const short a[6][8], const short b[8], short y[6]) {
#pragma scop
  for (int i = 0; i < 6; i++) {
    y[i] = 0;
    for (int k = 0; k < 8; k++)
      y[i] += a[i][k] * b[k];
  }
#pragma endscop
}
""",
}
"""C by name."""


def local(name: str) -> Program:
    """The program of this name."""
    return parse_scop(LOCAL[name], "recurrence.c")


def running_sums() -> Program:
    """Small, with an output for every step."""
    text = (_STREAM % ("3", "s + x[i]")).replace("24", "9").replace("short", "unsigned short")
    return parse_scop(text, "recurrence.c")
