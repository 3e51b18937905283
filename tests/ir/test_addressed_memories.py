"""Memories in the intermediate representation: text, order, bounds, meaning."""

from __future__ import annotations

import re

import numpy as np
import pytest
from irregular_programs import DATA, program_of

from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.memory_bounds import with_bounds
from compiler.ir.text import parse_program, print_program
from compiler.ir.types import ProgramError
from compiler.ir.verify import verify
from compiler.passes.normalize.constant_fills import fold_constant_fills

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


def test_memories_begin_with_a_constant():
    text = re.sub(r"(memory \w+ : \S+ of \w+)", r"\1 initial 9", TEXT)
    program = parse_program(text)
    assert program.memories[0].initial == 9 and parse_program(print_program(program)) == program
    with pytest.raises(ProgramError, match="memory 'words' begins with 300, which does not fit uint8"):
        verify(parse_program(text.replace("initial 9", "initial 300")))


def test_fills_with_a_constant_are_folded():
    text = """void f(const unsigned char a[8], int y[12]) {{
#pragma scop
    {fill}
    for (int i = 0; i < 8; i++) y[a[i] & 7] += i;
#pragma endscop
}}"""
    inputs = {"a": np.array([3, 3, 0, 7, 7, 7, 1, 2], np.uint8), "y": np.arange(12, dtype=np.int32)}
    for fill, initial in (("for (int i = 0; i < 3; i++) for (int j = 0; j < 4; j++) y[4 * i + 3 - j] = -5;", -5),
                          ("for (int i = 0; i < 12; i++) y[i] = i;", None),
                          ("for (int i = 0; i < 11; i++) y[i] = 4;", None)):
        program = parse_scop(text.format(fill=fill))
        folded = fold_constant_fills(program)
        verify(folded)
        assert folded.memories[0].initial == initial
        assert (len(folded.statements) < len(program.statements)) == (initial is not None)
        given = {array.name: inputs[array.name[0]] for array in program.inputs}
        (found,), (wanted,) = (interpret(p, given).values() for p in (folded, program))
        np.testing.assert_array_equal(found, wanted)


def test_an_index_that_is_always_outside_is_an_error():
    outside = parse_program(TEXT.replace("and(#0:uint8, 3:uint8):uint8", "9:uint8"))
    with pytest.raises(ProgramError, match="statement 'take': index 9 is outside 'x' of 4 elements"):
        with_bounds(outside)
