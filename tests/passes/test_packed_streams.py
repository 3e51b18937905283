"""Programs with several elements of a row at a time compute what they did, and those that cannot say why."""

from __future__ import annotations

import islpy as isl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compiler
from compiler.bind.fpga.errors import FpgaError
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.program import Array, Program
from compiler.ir.types import Int
from compiler.passes.arrays.packed_arrays import PackedArrays
from compiler.passes.arrays.packed_streams import most_lanes, pack_streams
from compiler.passes.arrays.stream_lanes import NotPackableError
from hw.errors import SluiceError


def scop(arguments: str, body: str) -> Program:
    return parse_scop(f"void f({arguments}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}\n", "f.c")


def require_kept(program: Program, lanes: int) -> Program:
    """Assert that the program with lanes gives the same outputs; that program."""
    packed, arrays = pack_streams(program, lanes)
    inputs = random_inputs(program, 1)
    found = arrays.join(interpret(packed, arrays.split(inputs)))
    for name, wanted in interpret(program, inputs).items():
        np.testing.assert_array_equal(found[name], wanted)
    return packed


IMAGE = "const unsigned char a[6][22], unsigned char y[6][20]"
LOOPS = "for (int i = 0; i < 6; i++) for (int j = 0; j < 20; j++)"
TAKEN = {
    "window over ragged rows": (IMAGE, f"{LOOPS} y[i][j] = (a[i][j] + 2 * a[i][j + 1] + a[i][j + 2]) / 4;"),
    "a value for each pixel": (IMAGE, f"{LOOPS} {{ int s = a[i][j]; s += 3 * a[i][j + 2]; y[i][j] = s >> 2; }}"),
    "iterators in values": (IMAGE, f"{LOOPS} y[i][j] = a[i][j + 1] * j - i;"),
    "loop from elsewhere": (IMAGE, "for (int i = 0; i < 6; i++) for (int j = 1; j < 21; j++) y[i][j - 1] = a[i][j];"),
    "several widths": ("const signed char a[9][18], const short b[9][18], short y[9][18], int z[9][18]",
                       "for (int i = 0; i < 9; i++) for (int j = 0; j < 18; j++) { y[i][j] = a[i][j] - b[i][j];"
                       " z[i][j] = a[i][j] * b[i][j]; }"),
    "half of the columns": ("const unsigned char a[3][24], unsigned char y[3][12]",
                            "for (int i = 0; i < 3; i++) for (int j = 0; j < 12; j++)"
                            " y[i][j] = (a[i][2 * j] + a[i][2 * j + 1]) / 2;"),
    "weights for all": ("const unsigned char a[40], const short w[3], short y[38]",
                        "for (int j = 0; j < 38; j++) y[j] = a[j] * w[0] + a[j + 1] * w[1] + a[j + 2] * w[2];"),
    "an array between": ("const short a[5][26], short y[5][22]",
                         "short t[5][24]; for (int i = 0; i < 5; i++) for (int j = 0; j < 24; j++)"
                         " t[i][j] = a[i][j] + a[i][j + 2]; for (int i = 0; i < 5; i++) for (int j = 0; j < 22; j++)"
                         " y[i][j] = t[i][j] - t[i][j + 2];"),
    "sums down columns": ("const short a[8][12], short y[12]",
                          "for (int j = 0; j < 12; j++) { int s = 0; for (int i = 0; i < 8; i++) s += a[i][j];"
                          " y[j] = s; }"),
    "rows of two loops": ("const unsigned char a[4][16], unsigned char y[8][16]",
                          "for (int i = 0; i < 4; i++) for (int j = 0; j < 16; j++) y[i][j] = a[i][j] + 1;"
                          "for (int i = 0; i < 4; i++) for (int j = 0; j < 16; j++) y[i + 4][j] = a[i][j] * 3;"),
}


@pytest.mark.parametrize("name", TAKEN)
def test_outputs_stay(name: str) -> None:
    program = scop(*TAKEN[name])
    lanes = most_lanes(program, 64)
    assert lanes == 64 // max(array.type.width for array in (*program.inputs, *program.outputs)
                              if len(array.shape) == len(program.outputs[0].shape) and array.name != "w")
    packed = require_kept(program, lanes)
    assert all(array.type.width <= 64 for array in (*packed.inputs, *packed.outputs))
    require_kept(program, 2)


def test_ragged_rows_are_read_once() -> None:
    """The word behind the end of a row is not read: only lanes that do not exist would need it."""
    program = scop("const unsigned char a[6][20], unsigned char y[6][18]",
                   "for (int i = 0; i < 6; i++) for (int j = 0; j < 18; j++) y[i][j] = a[i][j] | a[i][j + 2];")
    packed = require_kept(program, 4)
    assert packed.array("a").shape == packed.array("y").shape == (6, 5)


@pytest.mark.parametrize("value", [
    "a[i][j] * a[i][j + 3] + a[i][j + 4]",  # the last word of a row has no neighbour
    "a[i][j + 24] + a[i][2 * j + 16]",  # 2 * j + 3 is read in the first word of a row alone, where it is j + 3
])
def test_lanes_that_do_not_exist_read_what_others_do(value: str) -> None:
    """So the pipeline computes what the program does in these lanes, too, and is proven."""
    program = scop("const unsigned char a[6][40], unsigned char y[6][12]",
                   f"for (int i = 0; i < 6; i++) for (int j = 0; j < 12; j++) y[i][j] = {value};")
    [statement] = require_kept(program, 8).statements
    assert len(statement.reads) == 2
    assert compiler.compile(program, target="fpga", lanes=8).choices["lanes"] == "8"


@pytest.mark.parametrize(("arguments", "body", "reason"), [
    ("const unsigned char a[8][8], unsigned char y[8][8]",
     "for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) y[i][j] = a[j][i];",
     "statement 'S0' (f.c:3): 'a' is not read along its rows"),
    ("const short a[8][8], short y[8]",
     "for (int i = 0; i < 8; i++) { y[i] = 0; for (int j = 0; j < 8; j++) y[i] += a[i][j]; }",
     "statement 'S1' (f.c:3) reads output 'y'"),
    ("const short a[40], const short w[5], short y[36]",
     "for (int j = 0; j < 36; j++) { int s = 0; for (int k = 0; k < 5; k++) s += a[j + k] * w[k]; y[j] = s; }",
     "statement 'S1' (f.c:3): which of 4 neighbours in 'a' it is depends on another loop; unroll that"),
    ("const short a[16], short y[16]",
     "y[0] = a[0]; for (int j = 1; j < 16; j++) y[j] = a[j] + 1;",
     "statement 'S0' (f.c:3): no loop writes 'y' along it"),
    ("const short a[16], short y[16]",
     "for (int j = 0; j < 5; j++) y[j] = a[j]; for (int j = 5; j < 16; j++) y[j] = a[j] + 1;",
     "statement 'S1' (f.c:3): others write to the same wide elements of 'y'"),
    ("const unsigned char a[16], unsigned char y[16]",
     "for (int j = 0; j < 16; j++) y[a[j] & 15] += 1;", "there are addresses that data decide"),
    ("const long a[16], long y[16]", "for (int j = 0; j < 16; j++) y[j] = a[j];",
     "array 'y' has elements of type int64, or no rows"),
])
def test_why_a_program_is_not_taken(arguments: str, body: str, reason: str) -> None:
    with pytest.raises(NotPackableError) as error:
        pack_streams(scop(arguments, body), 4)
    assert str(error.value) == (f"elements of a row cannot be moved several at a time: {reason}; "
                                "one at a time (lanes=1) can")


def test_elements_of_a_few_bits_fill_words() -> None:
    """The first neighbour is in the lowest bits, whatever its sign; what fills up rows is zero."""
    kinds = {"a": Int(1, False), "b": Int(2, True), "c": Int(4, True), "d": Int(8, True)}
    arrays = {name: Array(name, (2, 5), kind, "input") for name, kind in kinds.items()}
    packed = PackedArrays(Program("p", tuple(arrays.values()), (), (), isl.UnionMap("{}")), dict.fromkeys(arrays, 4))
    values = {"a": [1, 0, 1, 1, 1], "b": [-2, 1, 0, -1, 1], "c": [-8, 7, -1, 0, 3], "d": [-128, 127, -1, 0, 5]}
    given = {name: np.array([row, row[::-1]], kinds[name].dtype) for name, row in values.items()}
    words = packed.split(given)
    assert {name: list(map(hex, rows[0])) for name, rows in words.items()} == {
        "a": ["0xd", "0x1"], "b": ["0xc6", "0x1"], "c": ["0xf78", "0x3"], "d": ["0xff7f80", "0x5"]}
    for name, rows in packed.join(words).items():
        assert rows.dtype == given[name].dtype
        np.testing.assert_array_equal(rows, given[name])


@given(st.data())
@settings(max_examples=25)
def test_random_windows_keep_what_they_compute(data: st.DataObject) -> None:
    draw = data.draw
    types = st.sampled_from(["unsigned char", "signed char", "short", "unsigned short"])
    width, taps = draw(st.integers(5, 19)), draw(st.integers(1, 4))
    step, first = draw(st.integers(1, 3)), draw(st.integers(0, 5))
    offsets = [draw(st.tuples(st.integers(0, 2), st.integers(0, 6))) for _ in range(taps)]
    terms = " + ".join(f"{draw(st.integers(-3, 9))} * a[i + {p}][{step} * j + {q}]" for p, q in offsets)
    program = scop(f"const {draw(types)} a[5][{step * (width + first) + 7}], {draw(types)} y[3][{width}]",
                   f"for (int i = 0; i < 3; i++) for (int j = {first}; j < {width + first}; j++)"
                   f" y[i][j - {first}] = {terms};")
    require_kept(program, draw(st.sampled_from([2, 4])))


def test_fpga_takes_as_many_as_the_bus() -> None:
    program = scop(*TAKEN["window over ragged rows"])
    one = compiler.compile(program, target="fpga")
    many = compiler.compile(program, target="fpga", lanes=0)
    narrow = compiler.compile(program, target="fpga", lanes=0, bus_bits=32)
    assert [d.choices["lanes"] for d in (one, many, narrow)] == ["1", "8", "4"]
    assert one.lower_bound == 6 * 22 and many.lower_bound == 6 * 3 and narrow.lower_bound == 6 * 6
    assert many.predicted_cycles <= 6 * 3 + 15 and many.predicted_start_to_done < one.predicted_start_to_done - 80


def test_fpga_says_why_it_does_not_take_lanes() -> None:
    program = scop("const short a[8][8], short y[8][8]",
                   "for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) y[i][j] = a[j][i];")
    assert compiler.compile(program, target="fpga", lanes=0).choices["lanes"] == "1"
    with pytest.raises(SluiceError, match="'a' is not read along its rows; one at a time"):
        compiler.compile(program, target="fpga", lanes=4)
    wide = scop("const long a[8], long y[8]", "for (int i = 0; i < 8; i++) y[i] = a[i];")
    with pytest.raises(SluiceError, match="elements of 64 bits, and the memory bus has 32: take a wider bus"):
        compiler.compile(wide, target="fpga", bus_bits=32)
    with pytest.raises(FpgaError, match="lanes is 3"):
        compiler.compile(program, target="fpga", lanes=3)
