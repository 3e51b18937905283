"""Vector programs: the six applications, what they cost, their text and C, and what is wrong with broken ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import check, compile_and_check
from random_arrays import random_inputs

from compiler.bind.vector import spill
from compiler.bind.vector.apps import applications, load
from compiler.bind.vector.errors import VectorProgramError, VectorTargetError
from compiler.bind.vector.ir import Instruction, Loop, Setting, Transfer, at, unrolled
from compiler.bind.vector.phases import Phase
from compiler.bind.vector.row_streaming import SlidingPlan
from compiler.bind.vector.target import Options, compile_arrays
from compiler.bind.vector.text import parse_program, print_program
from compiler.bind.vector.tile_search import TileSearch
from compiler.bind.vector.verify import verify_program
from compiler.frontend import parallel_array as pa

windows = np.lib.stride_tricks.sliding_window_view

SMALL: list[tuple[str, dict[str, Any]]] = [
    ("fir", {"n": 301}), ("fir", {"n": 64, "taps": (1, -2, 0, 5), "dtype": "int16"}),
    ("fir", {"n": 40, "dtype": "uint8"}),
    ("fir2d", {"rows": 20, "columns": 23}), ("fir2d", {"rows": 9, "columns": 30, "dtype": "int16"}),
    ("life", {"rows": 20, "columns": 17}), ("life", {"rows": 9, "columns": 40, "dtype": "uint8"}),
    ("imgblend", {"rows": 7, "columns": 31}), ("imgblend", {"rows": 8, "columns": 9, "dtype": "uint8"}),
    ("median", {"rows": 8, "columns": 11}), ("median", {"rows": 4, "columns": 9, "size": 3, "dtype": "int8"}),
    ("median", {"rows": 2, "columns": 5, "size": 7, "dtype": "uint16"}), ("median", {"rows": 7, "columns": 6}),
    ("motest", {"block": 8, "search": 9}), ("motest", {"block": 5, "search": 7, "dtype": "uint8"}),
    ("motest", {"block": 4, "dtype": "int8"}),
]


@pytest.mark.parametrize(("lanes", "scratchpad"), [(1, 2048), (4, 4096), (64, None)])
@pytest.mark.parametrize(("name", "parameters"), SMALL)
def test_applications_equal_numpy(name: str, parameters: dict[str, Any], lanes: int, scratchpad: int | None) -> None:
    program = load(name, **parameters)
    compile_and_check(program, random_inputs(program, np.random.default_rng(2)), lanes=lanes, scratchpad=scratchpad)


def test_applications_compute_their_definitions() -> None:
    """Against formulas of their own, not the expressions."""
    rng = np.random.default_rng(9)
    assert applications() == ("fir", "fir2d", "imgblend", "life", "median", "motest")
    image = rng.integers(0, 256, (16, 17)).astype(np.uint32)
    median = load("median", rows=12, columns=13).reference({"image": image})["median"]
    assert (median == np.median(windows(image, (5, 5)).reshape(12, 13, 25), axis=2)).all()
    cells = rng.integers(0, 2, (9, 8)).astype(np.uint32)
    around = windows(np.pad(cells, 1), (3, 3)).sum(axis=(2, 3)) - cells
    alive = (around == 3) | ((cells == 1) & (around == 2))
    assert (load("life", rows=9, columns=8).reference({"cells": cells})["next"] == alive).all()
    block, area = rng.integers(0, 256, (4, 4)), rng.integers(0, 256, (9, 9))
    sad = np.abs(windows(area, (4, 4))[:5, :5] - block).sum(axis=(2, 3))
    assert (load("motest", block=4, search=5).reference({"block": block, "area": area})["sad"] == sad).all()
    taps = (3, 1, 4)
    x = rng.integers(0, 1000, 12).astype(np.uint32)
    assert (load("fir", n=10, taps=taps).reference({"x": x})["y"] == np.correlate(x, taps)).all()


WORDS = {"fir": 2100, "fir2d": 12100, "life": 4000, "imgblend": 3600, "median": 16200, "motest": 1100}
"""Cycles that the lanes of V64 compute on words at full size: no more than these."""
BYTES = {"fir": 66_000, "fir2d": 610_000, "life": 526_000, "imgblend": 921_600, "median": 150_000, "motest": 8_000}
"""Bytes moved: no more than these."""


@pytest.mark.parametrize("name", WORDS)
def test_full_size_applications_are_fast(name: str) -> None:
    program = load(name)
    design = compile_and_check(program, random_inputs(program, np.random.default_rng(4)), lanes=64, search=True)
    assert design.ideal_cycles <= WORDS[name]
    assert design.figures.memory_bytes <= BYTES[name]
    assert design.lower_bound <= max(design.ideal_cycles, design.figures.memory_bytes // 32 + 1)


def operations(design: Any) -> list[str]:
    """Names of the instructions of a program, without repetitions by loops."""
    return [s.mode.op.name for s in unrolled(design.code.body) if isinstance(s, Instruction)]


def test_combining() -> None:
    """One instruction for what one instruction can do."""
    x, y = pa.input("x", 64, "int32", -999, 999), pa.input("y", 64, "int32", -999, 999)
    cases = {
        "VSUB": abs(x - y), "VMIN": pa.where(x < y, x, y), "VMAX": pa.where(y > x, y, x), "VADD": x - 5, "VSHR": x // 8,
        "VSLT": (x < y).astype("int32"), "VAND": x % 16,
    }
    whole = Options(lanes=4, segment=(64,))
    for name, expression in cases.items():
        assert operations(compile_arrays(pa.program("one", out=expression), whole)) == [name]
    wide = pa.input("wide", 64, "int32")
    selected = compile_arrays(pa.program("select", out=pa.where(wide == 0, y, wide + 1)), whole)
    assert sorted(operations(selected)) == ["VADD", "VCMV_NZ", "VMOV"]
    chain = compile_arrays(pa.program("chain", out=3 * wide + 4 * y - 5 * wide), whole)
    assert operations(chain) == ["VMUL", "VMAC", "VMAC"]
    assert operations(compile_arrays(pa.program("dot", out=(x * y).sum()), Options(lanes=4))) == ["VMUL"]


def test_shifted_subexpressions_are_shared() -> None:
    x = pa.input("x", 66, "int32")
    pairs = pa.minimum(x[:-1], x[1:])
    separate = pa.minimum(pa.minimum(x[:-2], x[1:-1]), pa.minimum(x[1:-1], x[2:]))
    for expression in (separate, pa.minimum(pairs[:-1], pairs[1:])):
        design = compile_arrays(pa.program("pairs", out=expression), Options(lanes=64, segment=(64,)))
        assert operations(design) == ["VMIN", "VMIN"]


def test_narrow_elements_are_computed_narrow() -> None:
    x = pa.input("x", 256, "uint8")
    wide = compile_arrays(pa.program("wide", out=(x.astype("uint32") * 3 + 7).astype("uint8")), Options(lanes=4))
    assert wide.figures.wavefronts == 2 * 256 // 16
    flags = pa.input("f", (8, 32), "int32", 0, 1)
    counted = flags[:-2] + flags[1:-1] + flags[2:]
    design = compile_arrays(pa.program("narrow", out=counted), Options(lanes=4, segment=(6, 32)))
    sizes = [s.mode.in_size for s in unrolled(design.code.body) if isinstance(s, Instruction)]
    assert sizes[0] == 2 and set(sizes[1:]) == {0}


def test_results_of_several_expressions_and_phases() -> None:
    x = pa.input("x", (12, 16), "int16")
    scaled = x * 3
    program = pa.program("several", scaled=scaled, sums=scaled.sum(axis=1), turned=scaled.T + 1, least=scaled.min())
    design = compile_and_check(program, random_inputs(program, np.random.default_rng(0)), lanes=2, scratchpad=1024)
    assert len(design.phases) >= 3 and design.registers <= 8


def test_halos_stay_on_chip() -> None:
    """Every row of the image is loaded once."""
    design = compile_arrays(load("fir2d", rows=64, columns=64), Options(lanes=64, scratchpad=16384))
    assert len(design.phases[0].plan.boxes) > 2
    loaded = sum(at(s.bytes, ()) * at(s.rows, ()) for s in unrolled(design.code.body)
                 if isinstance(s, Transfer) and not s.to_host)
    assert loaded <= 64 * 64 * 4


@pytest.mark.parametrize(("lanes", "scratchpad", "columns"), [(1, 4096, 24), (1, 2048, 24), (4, None, 37)])
def test_a_plan_slides_down_the_rows(lanes: int, scratchpad: int | None, columns: int,
                                     monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row is sorted and merged once, but for columns that two blocks share."""
    monkeypatch.setattr(TileSearch, "shapes", lambda *_: [])
    program = load("median", rows=24, columns=columns, size=5)
    design = compile_and_check(program, random_inputs(program, np.random.default_rng(6)), lanes=lanes,
                               scratchpad=scratchpad, search=True)
    plan = design.phases[0].plan
    assert isinstance(plan, SlidingPlan) and plan.layout.tile[0] == 1
    blocks = -(-columns // plan.layout.tile[1])
    assert design.figures.instructions <= blocks * (12 * 114 + 3 * 64)


def test_rows_slide_in_filters_of_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows needed two and five rows later, results at different rows, and an operand that is written over."""
    monkeypatch.setattr(TileSearch, "shapes", lambda *_: [])
    x = pa.input("x", (40, 21), "int16")
    sums = x[:-2] + x[1:-1] * 3 - x[2:]
    edges = pa.maximum(sums[:-5, 1:], sums[5:, :-1])
    program = pa.program("filters", edges=edges, low=pa.minimum(edges, sums[3:-2, 1:]) ^ x[7:, 1:])
    kinds = set()
    for lanes, scratchpad in ((1, 2048), (2, 4096)):
        design = compile_and_check(program, random_inputs(program, np.random.default_rng(7)), lanes=lanes,
                                   scratchpad=scratchpad, search=True)
        kinds.add(type(design.phases[0].plan).__name__)
    assert "SlidingPlan" in kinds


def test_loops_and_c_code() -> None:
    design = compile_arrays(load("imgblend", rows=64, columns=64), Options(lanes=1, segment=(4, 64)))
    assert any(isinstance(s, Loop) for s in design.code.body)
    text = design.c_code
    assert "for (int i0 = 0;" in text and "vector(SVWU, VMAC, " in text and "vector_dma_to_host((char *)blended" in text
    assert text.count("\n") < 80
    assert design.choices["segment 0"] == "4x64"


def test_emitted_files(tmp_path: Path) -> None:
    design = compile_arrays(load("fir", n=100), Options(lanes=2))
    design.emit(tmp_path)
    assert parse_program((tmp_path / "fir.vector").read_text()) == design.code
    assert (tmp_path / "fir.c").read_text() == design.c_code


def test_values_are_spilled_when_registers_run_out() -> None:
    """Eight arrays at once do not fit; sums of fewer products go through main memory."""
    arrays = [pa.input(f"x{i}", (4, 6), "int32") for i in range(8)]
    out = arrays[0] * arrays[1]
    for i in (2, 4, 6):
        out = out + (arrays[i] ^ arrays[i + 1]) * arrays[i]
    program = pa.program("many", out=out)
    inputs = random_inputs(program, np.random.default_rng(0))
    assert len(compile_and_check(program, inputs, lanes=1, scratchpad=1024).phases) == 1
    design = compile_and_check(program, inputs, lanes=1, scratchpad=64)
    assert len(design.phases) >= 2
    assert "spilled_0_0" in [a.name for a in design.code.arrays if a.role == "temporary"]


def test_of_many_values_some_are_tried_for_spilling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Coarse, then around the best: the time to divide a phase does not grow with the square of its values."""
    arrays = [pa.input(f"x{i}", (4, 6), "int32") for i in range(64)]
    out = arrays[0] * arrays[1]
    for i in range(2, 64, 2):
        out = out + (arrays[i] ^ arrays[i + 1]) * arrays[i]
    tried: list[int] = []
    divided, split = spill._divided, spill.split
    monkeypatch.setattr(spill, "_divided", lambda *given: (tried.append(0), divided(*given))[1])

    def counted(*given: Any) -> list[Phase]:
        tried[-1] += 1
        return split(*given)

    monkeypatch.setattr(spill, "split", counted)
    program = pa.program("many", out=out)
    design = compile_and_check(program, random_inputs(program, np.random.default_rng(0)), lanes=1, scratchpad=128)
    assert len(design.phases) > 4 and spill.TRIED < max(tried) < 2 * spill.TRIED + 20


# Errors.


def test_a_scratchpad_that_is_too_small_names_the_line() -> None:
    x = pa.input("x", (64, 64), "int32")
    with pytest.raises(VectorTargetError) as caught:
        compile_arrays(pa.program("p", out=x.T + x), Options(lanes=1, segment=(64, 64), scratchpad=1024))
    assert "test_vector_programs.py:" in str(caught.value)
    with pytest.raises(VectorTargetError) as caught:
        compile_arrays(pa.program("p", out=x + 1), Options(lanes=1, segment=(64, 64), scratchpad=1024))
    message = "the scratchpad of 1024 bytes is too small for a segment of 64x64 elements, which takes 16384 bytes"
    assert message in str(caught.value)


@pytest.mark.parametrize(("segment", "message"), [
    ((3, 3), "a segment of 2 dimensions does not fit results of shape (64,)"),
    ((0,), "a segment of (0,) elements is empty"),
])
def test_segments_are_checked(segment: tuple[int, ...], message: str) -> None:
    x = pa.input("x", 64, "int32")
    with pytest.raises(VectorTargetError) as caught:
        compile_arrays(pa.program("p", out=x + 1), Options(segment=segment))
    assert str(caught.value) == message


@pytest.mark.parametrize(("text", "message"), [
    ("", "a vector program begins with 'program NAME scratchpad BYTES'"),
    ("program p scratchpad 64\nrun VADD", "line 2: 'run VADD' is no statement of a vector program"),
    ("program p scratchpad 64\nloop 2 {", "a loop is not closed at the end of the program"),
    ("program p scratchpad 64\nlength 1 2", "line 2: 'length 1 2' is no statement of a vector program"),
])
def test_text_that_is_no_program(text: str, message: str) -> None:
    with pytest.raises(VectorProgramError) as caught:
        parse_program(text)
    assert str(caught.value) == message


HEAD = "program p scratchpad 64\narray x input int32 4 bytes 16\n"


@pytest.mark.parametrize(("text", "message"), [
    ("load 0 from y 0 bytes 4 rows 1", "there is no array 'y'"),
    ("load 0 from x 8 bytes 12 rows 1", "covers 8 to 20 of x, which has 16 bytes"),
    ("load 60 from x 0 bytes 8 rows 1", "covers 60 to 68 of scratchpad, which has 64 bytes"),
    ("load 0 from x 0 bytes 4 rows 2", "runs before its steps are set"),
    ("store 0 to x 0 bytes 4 rows 1", "stores to input 'x'"),
    ("run VADD VV W W S 1D d 0 a 0 b 0", "runs before its shape is set"),
    ("length 16\nrun VADD VV W W S 1D d 4 a 0 b 0", "D covers 4 to 68, outside the scratchpad of 64 bytes"),
    ("length 4\nrows 0 0 0 0\nrun VADD VV W W S 2D d 0 a 0 b 0", "runs with no rows"),
    ("length 0\nrun VADD VV W W S 1D d 0 a 0 b 0", "runs with no length"),
    ("length 4\nrows 3 16 0 -16\nrun VADD VV W W S 2D d 0 a 0 b 0", "B covers -32 to 16"),
    ("length 1\nrun VMAC VV W W S 1D d 0 a 0 b 0", "illegal mode (mac-operands)"),
    ("loop 0 {\n}", "a loop of 0 iterations"),
    ("length 1+4*i0", "a number steps with a loop that is not around it"),
])
def test_broken_programs(text: str, message: str) -> None:
    with pytest.raises(VectorProgramError) as caught:
        verify_program(parse_program(HEAD + text))
    assert message in str(caught.value)


def test_nested_loops_survive_text() -> None:
    text = (HEAD + "loop 2 {\n  loop 3 {\n    length 1+2*i0\n"
            "    run VMOV SV W W U 1D absolute d 4+8*i0+4*i1 a 7-2*i1 b 0\n  }\n}\n")
    program = parse_program(text)
    assert print_program(program) == text
    verify_program(program)
    lengths = [s.values for s in unrolled(program.body) if isinstance(s, Setting)]
    assert lengths == [(1,)] * 3 + [(3,)] * 3


def test_the_machine_sees_a_changed_program() -> None:
    """The comparison can fail."""
    design = compile_arrays(load("fir", n=64), Options(lanes=4))
    statements = list(design.code.body)
    place = next(i for i, s in enumerate(statements) if isinstance(s, Instruction))
    changed = replace(statements[place], a=5)
    design.code = replace(design.code, body=(*statements[:place], changed, *statements[place + 1:]))
    with pytest.raises(AssertionError):
        check(design, {"x": np.arange(79, dtype=np.uint32)})


@pytest.mark.parametrize("size", [4, 1])
def test_the_median_says_what_it_takes(size: int) -> None:
    with pytest.raises(pa.ArrayError, match=f"^median takes an odd size from 3 on, not {size}$"):
        load("median", size=size)
