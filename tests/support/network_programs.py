"""Programs that the tests of process networks share: the listings of Bok 2018 and the kernels around them, as C."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

from compiler.frontend.c_scop import parse_scop
from compiler.ir.program import Program

MATMUL = """
#include <stdint.h>
void mm(const int16_t a[N][N], const int16_t b[N][N], int16_t c[N][N]) {
  int16_t A[N][N], B[N][N], C[N][N];
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      ReadA: A[i][j] = a[i][j];
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      ReadB: READ_B;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      InitC: C[i][j] = INIT;
      for (int k = 0; k < N; k++)
        Comp: C[i][j] = C[i][j] + A[i][k] * B[k][j];
      WriteC: c[i][j] = C[i][j];
    }
#pragma endscop
}
"""
"""Listing 5.1 of Bok 2018, with the host functions ReadMatrix and WriteMatrix as input and output arrays."""

INNER_PRODUCT = """
#include <stdint.h>
void dot(const int16_t a[N], const int16_t b[N], int16_t c[1]) {
#pragma scop
  S: c[0] = 0;
  for (int i = 0; i < N; i++)
    T: c[0] = c[0] + a[i] * b[i];
#pragma endscop
}
"""

ROW_SUM = """
#include <stdint.h>
void row_sum(const int16_t x[1], const int16_t A[N][M], int16_t y[N]) {
  int16_t scale;
#pragma scop
  S1: scale = x[0];
  for (int i = 0; i < N; i++) {
    S2: y[i] = 0;
    for (int j = 0; j < M; j++)
      S3: y[i] = y[i] + scale * A[i][j];
  }
#pragma endscop
}
"""
"""Listing 2.2 of Bok 2018: the sum of every row, scaled."""

KERNELS = {
    "moving_average": """
void f(const int16_t x[20], int16_t y[18]) {
#pragma scop
  for (int i = 0; i < 18; i++) y[i] = x[i] + x[i + 1] + x[i + 2];
#pragma endscop
}""",
    "jacobi_1d": """
void f(int16_t a[12]) {
  int16_t b[12];
#pragma scop
  for (int t = 0; t < 4; t++) {
    for (int i = 1; i < 11; i++) b[i] = a[i - 1] + a[i] + a[i + 1];
    for (int i = 1; i < 11; i++) a[i] = b[i];
  }
#pragma endscop
}""",
    "triangular": """
void f(const int16_t L[6][6], const int16_t b[6], int16_t x[6]) {
#pragma scop
  for (int i = 0; i < 6; i++) {
    x[i] = b[i];
    for (int j = 0; j < i; j++) x[i] -= L[i][j] * x[j];
  }
#pragma endscop
}""",
    "elimination": """
void f(int16_t a[5][5]) {
#pragma scop
  for (int k = 0; k < 5; k++)
    for (int i = k + 1; i < 5; i++) {
      a[i][k] = a[i][k] * 3;
      for (int j = k + 1; j < 5; j++) a[i][j] -= a[i][k] * a[k][j];
    }
#pragma endscop
}""",
    "strided": """
void f(const int16_t x[10], int16_t y[4]) {
#pragma scop
  for (int i = 0; i < 10; i += 3) y[i / 3] = x[i] + x[0];
#pragma endscop
}""",
}


def matmul(size: int, transposed: bool = True, init: int = 0) -> Program:
    """Listing 5.1 for `size` x `size` matrices; `transposed`: B is streamed transposed, as there."""
    read_b = "B[j][i] = b[j][i]" if transposed else "B[i][j] = b[i][j]"
    return program("matmul", f"#define READ_B {read_b}\n#define INIT {init}\n{MATMUL}", N=size)


def program(name: str, text: str, **sizes: int) -> Program:
    """The program of a C text, with macros of `sizes`."""
    macros = "".join(f"#define {key} {value}\n" for key, value in sizes.items())
    return parse_scop(f"{macros}#include <stdint.h>\n{text}", f"{name}.c", Path(), name)


def kernel(name: str) -> Program:
    """One of `KERNELS`."""
    return program(name, KERNELS[name])


@st.composite
def nests(draw: st.DrawFn) -> Program:
    """Random affine programs: windows, transposition, triangular and strided loops, recurrences, two stages."""
    size = draw(st.integers(4, 6))
    row, column = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    low = draw(st.sampled_from(["0", "i"]))
    step = draw(st.sampled_from([1, 1, 2, 3]))
    first = draw(st.sampled_from([f"x[i + {row}][j + {column}]", f"x[j + {column}][i + {row}]", f"x[{row}][j]"]))
    second = draw(st.sampled_from(["x[i][j]", "x[0][i]", "3", f"t[{'i - 1' if low == '0' else 'i'}][0]"]))
    prefix = "if (i > 0) " if second.startswith("t[i - 1]") else ""
    index = draw(st.sampled_from(["[i][j]", "[j][i]", "[i][0]"]))
    total = size + 2
    text = f"""
void f(const int16_t x[{total}][{total}], int16_t y[{size}][{size}]) {{
  int16_t t[{size}][{size}];
#pragma scop
  for (int i = 0; i < {size}; i++)
    for (int j = 0; j < {size}; j++) t[i][j] = x[j][i];
  for (int i = 0; i < {size}; i++)
    for (int j = {low}; j < {size}; j += {step})
      {prefix}t[i][j] = {first} + {second} * t[i][j];
  for (int i = 0; i < {size}; i++)
    for (int j = 0; j < {size}; j++)
      y[i][j] = t{index} - 1;
#pragma endscop
}}"""
    return program("random", text)
