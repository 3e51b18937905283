"""Programs of one recurrence each, whose operators take less than a period of 120 MHz together."""

from __future__ import annotations

from compiler.frontend.c_scop import parse_scop
from compiler.ir.program import Program

__all__ = ["RECURRENCES", "recurrence"]

RECURRENCES: dict[str, tuple[str, int]] = {
    "argmax": ("""void argmax(const short x[16], short best[1], short where[1]) {
#pragma scop
  best[0] = -32768;
  where[0] = 0;
  for (int i = 0; i < 16; i++)
    if (x[i] > best[0]) {
      best[0] = x[i];
      where[0] = i;
    }
#pragma endscop
}
""", 16),
    "iir": ("""void iir(const short x[32], short y[32]) {
#pragma scop
  short s = 0;
  for (int i = 0; i < 32; i++) {
    s = s + ((x[i] - s) >> 2);
    y[i] = s;
  }
#pragma endscop
}
""", 32),
    "xorshift": ("""void xorshift(const unsigned short x[24], unsigned short y[24]) {
#pragma scop
  unsigned short s = 1;
  for (int i = 0; i < 24; i++) {
    s = s ^ (unsigned short)(s << 7);
    s = s ^ (s >> 9);
    s = (s ^ (unsigned short)(s << 8)) + x[i];
    y[i] = s;
  }
#pragma endscop
}
""", 24),
}
"""C text and steps by name."""


def recurrence(name: str) -> Program:
    """The program called `name`."""
    return parse_scop(RECURRENCES[name][0], f"{name}.c")
