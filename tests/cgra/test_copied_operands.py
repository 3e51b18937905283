"""Statements that read a value and a copy of it: both come on one wire, and that is the same value."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.bind.registry import compile_program
from compiler.frontend.c_scop import load_c

SOURCE = """#include <stdint.h>
void f(const uint16_t in[4][4], uint16_t out[4][4]) {{
  uint16_t a[4][4], b[4][4];
#pragma scop
  for (int y = 0; y < 4; y++) for (int x = 0; x < 4; x++) a[y][x] = in[y][x] + in[y][x];
  for (int y = 0; y < 4; y++) for (int x = 0; x < 4; x++) b[y][x] = {copy};
  for (int y = 0; y < 4; y++) for (int x = 0; x < 4; x++) out[y][x] = b[y][x] + b[y][x] + a[y][x];
#pragma endscop
}}
"""


@pytest.mark.parametrize("copy", ["a[y][x]", "(uint16_t)(a[y][x] * 0 + a[y][x])"])
def test_a_value_and_its_copy_are_the_same(copy: str, tmp_path: Path) -> None:
    """The copy is validated, plain or simplified to one."""
    file = tmp_path / "copy.c"
    file.write_text(SOURCE.format(copy=copy))
    design = compile_program(load_c(file), "cgra", array="4x4")
    assert design.predicted_cycles >= 16
