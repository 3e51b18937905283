"""Look-ups in tables: gathers of the lanes, with tables of the program, of its inputs and of what it computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compiled import compile_and_check

import compiler
from compiler.bind.vector.design import VectorDesign
from compiler.bind.vector.errors import VectorProgramError, VectorTargetError
from compiler.bind.vector.ir import Instruction, Transfer, unrolled
from compiler.bind.vector.target import Options, compile_arrays
from compiler.bind.vector.text import parse_program, print_program
from compiler.bind.vector.verify import verify_program
from compiler.cli.input_files import random_inputs
from compiler.frontend import parallel_array as pa
from compiler.frontend.c_scop import load_c
from compiler.ir.interpret import interpret
from compiler.ir.types import ProgramError
from hw.vector_lanes.isa import Op

RNG = np.random.default_rng(11)
CURVE = RNG.integers(-30000, 30000, 256).astype(np.int16)


def gathers(design: VectorDesign) -> list[Instruction]:
    """The gathers of a program, each as often as it is executed."""
    return [s for s in unrolled(design.code.body) if isinstance(s, Instruction) and s.mode.op is Op.VGATHER]


def loaded(design: VectorDesign, array: str) -> int:
    """Bytes of an array that are loaded altogether."""
    moves = [s for s in unrolled(design.code.body) if isinstance(s, Transfer) and not s.to_host and s.array == array]
    return sum(s.bytes * s.rows for s in moves if isinstance(s.bytes, int) and isinstance(s.rows, int))


def numbers(shape: tuple[int, ...], kind: str) -> np.ndarray:
    limits = np.iinfo(kind)
    return RNG.integers(limits.min, limits.max, shape, endpoint=True).astype(kind)


@pytest.mark.parametrize("table", ["int8", "uint16", "int32"])
@pytest.mark.parametrize("index", ["uint8", "int16", "uint32"])
@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_all_sizes(table: str, index: str, mode: str) -> None:
    """Tables and indices of every size, in many tiles."""
    x, t = pa.input("x", (9, 40), index), pa.input("t", 37, table)
    program = pa.program("test", out=pa.take(t, x, mode=mode), more=pa.take(t[3:9], x, mode=mode) + 1)
    compile_and_check(program, {"x": numbers((9, 40), index), "t": numbers((37,), table)}, lanes=2, scratchpad=1024)


def test_a_table_is_loaded_once() -> None:
    """However many tiles there are; and only as far as indices reach."""
    x = pa.input("x", 3000, "uint8")
    program = pa.program("test", out=pa.take(CURVE, x), low=pa.take(CURVE, x & 31))
    design = compile_and_check(program, {"x": numbers((3000,), "uint8")}, lanes=4, scratchpad=4096)
    assert design.phases[0].plan.steps > 2
    assert loaded(design, "constant_0") == CURVE.nbytes
    assert sum(int(g.mode.in_size) == 0 for g in gathers(design)) == len(gathers(design))
    part = compile_and_check(pa.program("test", out=pa.take(CURVE, x & 31)), {"x": numbers((3000,), "uint8")}, lanes=4)
    assert loaded(part, "constant_0") == 32 * CURVE.itemsize


def test_bounds_count_an_element_per_cycle() -> None:
    x = pa.input("x", 500, "uint8")
    design = compile_arrays(pa.program("test", out=pa.take(CURVE, x) + x), Options(lanes=64))
    assert 500 < design.lower_bound <= design.ideal_cycles < 520 < design.predicted_cycles


def test_computed_tables_are_stored_first() -> None:
    x, t = pa.input("x", (8, 30), "uint8"), pa.input("t", 64, "int16")
    program = pa.program("test", out=(t * t)[x & 63], turned=t[::-1][x >> 2], row=pa.stretch(t, 2)[x & 127] - x)
    compile_and_check(program, {"x": numbers((8, 30), "uint8"), "t": numbers((64,), "int16")}, lanes=4, scratchpad=1024)


def test_an_array_that_is_its_own_table() -> None:
    """It moves tile by tile as the indices and lies still as the table."""
    x = pa.input("x", 150, "uint32", low=0, high=9)
    design = compile_and_check(pa.program("test", out=x[x]), {"x": RNG.integers(0, 10, 150).astype(np.uint32)}, lanes=2,
                               scratchpad=256)
    assert design.phases[0].plan.steps > 1


def test_tables_of_one_element_and_of_equal_ones() -> None:
    x, t = pa.input("x", 20, "int8"), pa.input("t", 1, "int32")
    same = pa.take(np.full(9, 7, np.int8), x, mode="wrap") + x
    program = pa.program("test", one=pa.take(t, x, mode="clip"), same=same)
    design = compile_and_check(program, {"x": numbers((20,), "int8"), "t": numbers((1,), "int32")}, lanes=1)
    assert len(gathers(design)) <= 1


def test_known_indices_need_no_gather() -> None:
    """Constants fold; a single element is read where it is."""
    x, t = pa.input("x", 20, "int16"), pa.input("t", 9, "int16")
    program = pa.program("test", out=x + pa.take(CURVE, np.arange(20)) + t[[4]] + pa.take(t, -2), last=t[[-1]])
    turned = pa.as_array(CURVE)[30:10:-1]
    compile_and_check(pa.program("turned", out=turned[np.arange(20)] + x, part=pa.take(CURVE[5:], np.arange(9)[::2])),
                      {"x": numbers((20,), "int16")}, lanes=4)
    design = compile_and_check(program, {"x": numbers((20,), "int16"), "t": numbers((9,), "int16")}, lanes=4)
    assert not gathers(design)


def test_negative_indices_count_from_the_end() -> None:
    x = pa.input("x", 40, "int8", low=-7, high=6)
    t = pa.input("t", 7, "int32")
    compile_and_check(pa.program("test", out=t[x], other=t[x >> 1] + x),
                      {"x": RNG.integers(-7, 7, 40).astype(np.int8), "t": numbers((7,), "int32")}, lanes=4)


def test_what_follows_a_look_up() -> None:
    """Boundaries, reductions, other sizes, selects, sums in place."""
    x = pa.input("x", (12, 17), "uint8")
    found = pa.take(CURVE, x)
    program = pa.program("test", edges=pa.shift(found, (1, -2), pa.default(70)), sums=found.sum(axis=1),
                         narrow=(found & 63).astype("uint8"), wide=found.astype("int32"), most=found.max(),
                         turned=found.T, chosen=pa.where(x > 99, found, 3), added=found + found * 5,
                         again=pa.take(CURVE, found, mode="wrap"),
                         boxes=pa.sliding_window_view(found, 3, 1).sum(axis=2))
    compile_and_check(program, {"x": numbers((12, 17), "uint8")}, lanes=4, scratchpad=2048)


def test_indices_must_lie_in_the_table() -> None:
    x, t = pa.input("x", 20, "uint8"), pa.input("t", 255, "int16")
    message = (r"test_vector_tables\.py:\d+: .*indices from 0 to 255 may lie outside the table of 255 entries; "
               r"take\(\.\.\., mode='clip'\)")
    with pytest.raises(VectorTargetError, match=message):
        compile_arrays(pa.program("test", out=t[x]), Options(lanes=4))


def test_a_table_larger_than_the_scratchpad() -> None:
    x = pa.input("x", 20, "uint8")
    with pytest.raises(VectorTargetError, match="the scratchpad of 256 bytes is too small for a segment of 1 elements"):
        compile_arrays(pa.program("test", out=pa.take(CURVE, x)), Options(lanes=2, scratchpad=256))


def test_gathers_print_parse_and_are_checked() -> None:
    x = pa.input("x", 20, "uint8")
    design = compile_arrays(pa.program("test", out=pa.take(CURVE, x)), Options(lanes=2))
    text = print_program(design.code)
    (line,) = [line for line in text.splitlines() if "VGATHER" in line]
    assert line.strip().startswith("run VGATHER SV B H U 1D d ") and "VGATHER" in design.c_code
    (gather,) = gathers(design)
    broken = text.replace(f" a {gather.a} ", f" a {design.code.scratchpad - 1} ")
    with pytest.raises(VectorProgramError, match=f"table covers {design.code.scratchpad - 1} to "):
        verify_program(parse_program(broken))


C_TABLE = """static const short curve[20] = {3, -4, 5, 7, 100, 90, 80, 70, 60, 50, -1, -2, -3, -4, -5, -6, 11, 12, 13};
void kernel(short in[30], unsigned char key[30], short out[30])
{
#pragma scop
for (int i = 0; i < 30; i++)
    out[i] = curve[key[i] & 15] + (in[i] >= 0 && in[i] < 20 ? curve[in[i] & 15] : 1) + curve[i % 20];
#pragma endscop
}
"""


def test_tables_of_c_programs(tmp_path: Path) -> None:
    path = tmp_path / "curve.c"
    path.write_text(C_TABLE)
    program = load_c(path)
    design = compiler.compile(program, target="vector", lanes=4, search=False)
    inputs = random_inputs(program, 5)
    assert (design.execute(inputs)["out"] == interpret(program, inputs)["out"]).all()


def test_wrong_programs_stay_inside_their_tables(tmp_path: Path) -> None:
    """The interpreter says what is wrong with them; the machine takes the nearest entry, and nothing else is read."""
    path = tmp_path / "outside.c"
    path.write_text(C_TABLE.replace("key[i] & 15", "key[i]"))
    program = load_c(path)
    design = compiler.compile(program, target="vector", lanes=4, search=False)
    inputs = {"in": np.zeros(30, np.int16), "key": np.full(30, 200, np.uint8)}
    with pytest.raises(ProgramError, match="index 200 is outside table"):
        interpret(program, inputs)
    inside = interpret(program, inputs | {"key": np.full(30, 19, np.uint8)})
    assert (design.execute(inputs)["out"] == inside["out"]).all()
