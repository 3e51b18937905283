"""Memories in the intermediate representation: text, order, bounds, meaning."""

from __future__ import annotations

import re

import numpy as np
import pytest
from irregular_programs import DATA, program_of

from compiler.ir.interpret import interpret
from compiler.ir.memory_bounds import with_bounds
from compiler.ir.text import parse_program, print_program
from compiler.ir.types import ProgramError
from compiler.ir.verify import verify

TEXT = """program "swap" {
  input x : uint8[4]
  output y : uint8[4]
  intermediate filled : bit[1]
  memory words : uint8[4] of x
  statement fill(i) {
    domain "{ fill[i] : 0 <= i <= 3 }"
    read x "{ fill[i] -> x[i] }"
    write filled "{ fill[i] -> filled[0] }"
    value store words[$i:uint8] = #0:uint8 if 1:bit:bit
  }
  statement take(i) {
    domain "{ take[i] : 0 <= i <= 3 }"
    read x "{ take[i] -> x[i] }"
    read filled "{ take[i] -> filled[0] }"
    write y "{ take[i] -> y[i] }"
    value load words[and(#0:uint8, 3:uint8):uint8] after (#1:bit):uint8
  }
  order "{ fill[i] -> [0, i]; take[i] -> [1, i] }"
}
"""


@pytest.mark.parametrize("name", DATA)
def test_text_parses_back(name):
    text = print_program(program_of(name))
    assert ("memory" in text) == bool(program_of(name).memories)
    assert parse_program(text) == program_of(name)


def test_loads_see_what_was_stored():
    program = parse_program(TEXT)
    verify(program)
    x = np.array([7, 5, 1, 2], np.uint8)
    np.testing.assert_array_equal(interpret(program, {"x": x})["y"], x[x & 3])


@pytest.mark.parametrize(("old", "new", "message"), [
    (" after (#1:bit)", "", "statement 'take' accesses memory 'x' without waiting for statement 'fill', which"),
    ("load words", "load wards", "program 'swap' has no memory 'wards'; there are: words"),
    ("uint8[4] of x", "uint16[4] of x", "memory 'words' holds uint16, not uint8"),
    ("if 1:bit:bit", "if #0:uint8:bit", "a store to 'words' is enabled by uint8, not by a bit"),
    ("memory words", "memory filled", "array, table or memory 'filled' is declared twice"),
    ("fill[i] -> [0, i]; take[i] -> [1, i]", "fill[i] -> [i, 0]; take[i] -> [i, 1]",
     "statement 'fill' accesses memory 'x' without waiting for statement 'take', which comes before"),
])
def test_faults(old, new, message):
    changed = parse_program(TEXT.replace(old, new))
    with pytest.raises(ProgramError, match=re.escape(message)):
        verify(changed)


def test_bounds_are_proven_trapped_wrapped_or_assumed():
    unmasked = parse_program(TEXT.replace("and(#0:uint8, 3:uint8):uint8", "#0:uint8"))
    assert not with_bounds(parse_program(TEXT)).memories[0].trap
    assert with_bounds(unmasked).memories[0].trap
    assert not with_bounds(unmasked, "assume").memories[0].trap
    x = np.array([7, 5, 1, 2], np.uint8)
    with pytest.raises(ProgramError, match=r"statement 'take': index 7 is outside 'x' of 4 elements, at i=0"):
        interpret(with_bounds(unmasked), {"x": x})
    wrapped = with_bounds(unmasked, "wrap")
    verify(wrapped)
    np.testing.assert_array_equal(interpret(wrapped, {"x": x})["y"], x[x % 4])


def test_an_index_that_is_always_outside_is_an_error():
    outside = parse_program(TEXT.replace("and(#0:uint8, 3:uint8):uint8", "9:uint8"))
    with pytest.raises(ProgramError, match="statement 'take': index 9 is outside 'x' of 4 elements"):
        with_bounds(outside)
