"""Statements in more loops than arrays have dimensions are refused by name; with two loops as one they are taken."""

from __future__ import annotations

import pytest

import compiler
from compiler.bind.vector.errors import VectorTargetError
from compiler.frontend.c_scop import parse_scop

HEAD = "void conv(const short w[2][2][2][2], const short in[3][3][2], int out[2][2][2]) {\n#pragma scop\n"
OUTER = "".join(f"for (int {i} = 0; {i} < 2; {i}++)\n" for i in ("y", "x", "r", "s", "c"))
SPLIT = "for (int ko = 0; ko < 2; ko++)\nfor (int ki = 0; ki < 1; ki++)\n"


def program(loops: str, k: str) -> str:
    return (f"{HEAD}{OUTER}{loops}out[y][x][{k}] += w[{k}][r][s][c] * in[y + r][x + s][c];\n#pragma endscop\n}}\n")


def test_seven_loops() -> None:
    with pytest.raises(VectorTargetError) as caught:
        compiler.compile(parse_scop(program(SPLIT, "ko + ki"), "conv.c"), target="vector")
    assert str(caught.value) == (
        "statement 'S0' (conv.c:10): there are 7 loops around it; the vector target takes up to 6: write a loop and "
        "the one inside it that walk consecutive elements as one loop")
    compiler.compile(parse_scop(program("for (int k = 0; k < 2; k++)\n", "k"), "conv.c"), target="vector")
