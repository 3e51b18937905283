"""Statements that read a value and a copy of it: both come on one wire, and that is the same value."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.bind.registry import compile_program
from compiler.frontend.c_scop import load_c

SOURCE = """#include <stdint.h>
void f(const uint16_t in[4][4], uint16_t out[4][4]) {{
  uint16_t a[4][4]; {type} b[4][4];
#pragma scop
  for (int y = 0; y < 4; y++) for (int x = 0; x < 4; x++) a[y][x] = in[y][x] + in[y][x];
  for (int y = 0; y < 4; y++) for (int x = 0; x < 4; x++) b[y][x] = {copy};
  for (int y = 0; y < 4; y++) for (int x = 0; x < 4; x++) out[y][x] = b[y][x] + b[y][x] + a[y][x];
#pragma endscop
}}
"""


COPIES = ["a[y][x]", "(uint16_t)(a[y][x] * 0 + a[y][x])", "(uint16_t)(a[y][x] - a[y][x]) + a[y][x]",
          "a[y][x] - in[y][x] + in[y][x]", "in[y][x] + in[y][x]"]


@pytest.mark.parametrize("type", ["uint16_t", "int16_t"])
@pytest.mark.parametrize("copy", COPIES)
def test_a_value_and_its_copy_are_the_same(copy: str, type: str, tmp_path: Path) -> None:
    """The copy is validated: plain, simplified to one, or the same sum again, also with another sign."""
    file = tmp_path / "copy.c"
    file.write_text(SOURCE.format(copy=copy, type=type))
    design = compile_program(load_c(file), "cgra", array="4x4")
    assert design.predicted_cycles >= 16


def test_a_value_that_is_copied_along_a_row(tmp_path: Path) -> None:
    """A statement that copies what it wrote before is followed once, not for ever."""
    file = tmp_path / "shift.c"
    file.write_text("""#include <stdint.h>
void f(const uint16_t in[8], uint16_t out[8]) {
  uint16_t a[8];
#pragma scop
  a[0] = in[0];
  for (int x = 1; x < 8; x++) a[x] = a[x - 1];
  for (int x = 1; x < 8; x++) out[x] = a[x] + a[x - 1];
#pragma endscop
}
""")
    assert compile_program(load_c(file), "cgra", array="4x4").predicted_cycles >= 8


def test_a_table_that_copies_small_values(tmp_path: Path) -> None:
    """Operands outside the table are passed over; those inside show that the table changes nothing."""
    file = tmp_path / "table.c"
    file.write_text("""#include <stdint.h>
static const uint16_t T[4] = {0, 1, 2, 3};
void f(const uint16_t in[4][4], uint16_t out[4][4]) {
  uint16_t a[4][4], b[4][4];
#pragma scop
  for (int y = 0; y < 4; y++) for (int x = 0; x < 4; x++) a[y][x] = in[y][x] & 3;
  for (int y = 0; y < 4; y++) for (int x = 0; x < 4; x++) b[y][x] = T[a[y][x]];
  for (int y = 0; y < 4; y++) for (int x = 0; x < 4; x++) out[y][x] = b[y][x] + b[y][x] + a[y][x];
#pragma endscop
}
""")
    assert compile_program(load_c(file), "cgra", array="4x4").predicted_cycles >= 16


def test_a_copy_in_a_wider_type_that_is_read_before_the_narrow_value(tmp_path: Path) -> None:
    """What is drawn for both is a byte with a sign; the copy, of another sign, is compared as what it becomes."""
    file = tmp_path / "mixed.c"
    file.write_text("""#include <stdint.h>
void f(const int8_t a[4][4], const int8_t b[4][4], uint16_t s[4][4]) {
#pragma scop
  for (int y = 0; y < 4; y++) for (int x = 0; x < 4; x++) {
    s[y][x] = a[y][x];
    if (b[y][x] < s[y][x]) s[y][x] = a[y][x] * 3;
  }
#pragma endscop
}
""")
    assert compile_program(load_c(file), "cgra", array="4x4").predicted_cycles >= 16
