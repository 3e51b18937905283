"""Arrays that are written in parts: what is stored where, narrow neighbours in words, repeated elements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import compile_and_check
from random_arrays import random_inputs

import compiler
from compiler.bind.vector.design import VectorDesign
from compiler.bind.vector.ir import Transfer, unrolled
from compiler.cli.input_files import random_inputs as program_inputs
from compiler.frontend import parallel_array as pa
from compiler.frontend.apps import load
from compiler.frontend.c_scop import load_c
from compiler.ir.interpret import interpret


def stores(design: VectorDesign) -> list[Transfer]:
    """All stores, one by one."""
    return [s for s in unrolled(design.code.body) if isinstance(s, Transfer) and s.to_host]


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32"])
@pytest.mark.parametrize("count", [2, 3, 4, 6])
def test_neighbours_are_stored_in_words(kind: str, count: int) -> None:
    """As far as they fill halfwords or words; others element by element."""
    x = pa.input("x", (4, 30), kind)
    program = pa.program("test", out=pa.interleave([x + i * 20 if i != 1 else x >> 1 for i in range(count)], axis=1))
    design = compile_and_check(program, random_inputs(program, np.random.default_rng(count)), lanes=2)
    together = next((k for k in (4, 2) if count % k == 0 and k * np.dtype(kind).itemsize <= 4), 1)
    assert {s.bytes for s in stores(design) if s.rows != 1} <= {together * np.dtype(kind).itemsize}
    assert together < count or all(s.rows == 1 for s in stores(design))


@pytest.mark.parametrize(("kind", "factors"), [("uint8", (1, 2)), ("uint8", (3, 4)), ("int8", (2, 2)), ("int8", (1, 4)),
                                               ("uint16", (2, 2)), ("int16", (1, 2))])
def test_elements_are_repeated_in_words(kind: str, factors: tuple[int, int]) -> None:
    """A cycle makes as many copies as a wavefront of words has."""
    x = pa.input("x", (6, 32), kind)
    program = pa.program("test", out=pa.stretch(x, factors))
    design = compile_and_check(program, random_inputs(program, np.random.default_rng(1)), lanes=4)
    words = 6 * 32 * factors[0] * factors[1] * np.dtype(kind).itemsize // 4
    assert design.ideal_cycles <= words / 4 * 1.1 + 6


@pytest.mark.parametrize(("kind", "wanted"), [("int8", "int16"), ("int16", "int32"), ("uint8", "int32"),
                                              ("int8", "int8")])
def test_repeated_elements_of_other_sizes(kind: str, wanted: str) -> None:
    """Sections begin inside groups; values with a sign are extended."""
    x = pa.input("x", (5, 9), kind)
    cut = pa.stretch(x, (2, 2))[1:, 1:-2].astype(wanted)
    program = pa.program("test", out=cut - 3, other=pa.stretch(x >> 1, (1, 4)))
    compile_and_check(program, random_inputs(program, np.random.default_rng(2)), lanes=2, scratchpad=256)


def compiled(body: str, folder: Path, arguments: str, **options: Any) -> VectorDesign:
    """A C kernel, compared with the interpreter."""
    path = folder / "parts.c"
    path.write_text(f"void kernel({arguments})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n")
    program = load_c(path)
    design = compiler.compile(program, target="vector", **({"lanes": 4, "search": False} | options))
    inputs = program_inputs(program, 3)
    found = design.execute(inputs)
    for name, wanted in interpret(program, inputs).items():
        np.testing.assert_array_equal(found[name], wanted)
    assert isinstance(design, VectorDesign)
    return design


CHANNELS = "short in[16][32], short out[3][16][2][32][2]"


def test_parts_of_an_output_are_stored_where_they_belong(tmp_path: Path) -> None:
    """Nothing is selected on chip, and the two innermost neighbours are one word."""
    body = "\n".join(f"for (int y = 0; y < 16; y++) for (int x = 0; x < 32; x++) out[{c}][y][{i}][x][{j}] = in[y][x] + "
                     f"{c + 4 * i + 16 * j};" for c in range(3) for i in range(2) for j in range(2))
    design = compiled(body, tmp_path, CHANNELS)
    assert len(design.phases) == 1 and not any("VCMV" in line for line in design.c_code.splitlines())
    assert {s.bytes for s in stores(design)} == {32 * 2 * 2}


@pytest.mark.parametrize("body", [
    "for (int y = 0; y < 16; y++) for (int x = 0; x < 32; x++) out[0][y][0][x][0] = in[y][x];",
    "for (int y = 0; y < 16; y++) for (int x = 0; x < 32; x++) out[1][y][0][x][0] = in[y][x];\n"
    "for (int y = 0; y < 16; y++) for (int x = 0; x < 32; x++) out[1][y][0][x][0] = in[y][x] * 2;",
    "for (int x = 0; x < 32; x++) out[1][0][1][x][0] = in[3][x];\n"
    "for (int y = 0; y < 16; y++) for (int x = 0; x < 32; x++) out[2][y][0][x][1] = out[1][0][1][x][0] - in[y][x];",
], ids=["incomplete", "twice", "read"])
def test_parts_that_do_not_make_up_the_array(body: str, tmp_path: Path) -> None:
    """The rest is zeros; the last write counts; what was written can be read."""
    compiled(body, tmp_path, CHANNELS)


def test_edges_of_an_image(tmp_path: Path) -> None:
    """Parts of different shapes: the inside, and the edges as they are."""
    compiled("for (int y = 1; y < 15; y++) for (int x = 1; x < 31; x++) out[y][x] = in[y-1][x] + in[y+1][x+1];\n"
             "for (int x = 0; x < 32; x++) { out[0][x] = in[0][x]; out[15][x] = in[15][x]; }\n"
             "for (int y = 1; y < 15; y++) { out[y][0] = in[y][0]; out[y][31] = in[y][31]; }", tmp_path,
             "short in[16][32], short out[16][32]")


def test_camera_pipeline() -> None:
    """Twelve statements for the channels and places in blocks of one output; a table; 32-bit products."""
    program = load("camera_pipeline", width=8, height=6)
    design = compiler.compile(program, target="vector", lanes=4, search=False)
    inputs = program_inputs(program, 7)
    np.testing.assert_array_equal(design.execute(inputs)["output"], interpret(program, inputs)["output"])
    assert isinstance(design, VectorDesign) and len(design.phases) == 1


@pytest.mark.parametrize(("lanes", "scratchpad"), [(2, 1024), (1, 256), (4, None)])
def test_groups_from_different_elements_on(lanes: int, scratchpad: int | None) -> None:
    """Tiles of one row need one row of what is stretched, or two: buffers have room for both."""
    x = pa.input("x", (9, 20), "int32")
    program = pa.program("test", out=pa.stretch(x[1:7], (2, 1))[1:] + pa.stretch(x[2:8], (2, 1))[:-1],
                         thirds=pa.stretch(x[1:5], (3, 1))[2:] - pa.stretch(x[2:6], (3, 1))[:-2])
    compile_and_check(program, random_inputs(program, np.random.default_rng(3)), lanes=lanes, scratchpad=scratchpad)


@pytest.mark.parametrize(("factor", "step", "segment"), [(2, 4, 1), (40, 4, 1), (40, 4, 7), (100, 8, 3)])
def test_large_groups_of_elements_far_apart(factor: int, step: int, segment: int) -> None:
    """Only tiles late in a group need the next one beside it."""
    x = pa.input("x", 80, "int16")
    later, first = (pa.stretch(x[start:start + 9 * step:step], factor) for start in (step, 0))
    program = pa.program("test", out=later[1:] + first[:-1] * 3)
    compile_and_check(program, random_inputs(program, np.random.default_rng(factor)), lanes=2, segment=(segment,))


def test_rows_that_are_repeated_in_turns(tmp_path: Path) -> None:
    compiled("for (int i = 0; i < 2; i++) for (int j = 0; j < 7; j++) out[j][i] = in[(j + 3) / 2 * 2][i / 2 * 2];",
             tmp_path, "int in[60][60], int out[16][16]", lanes=2, scratchpad=1024, search=False)
