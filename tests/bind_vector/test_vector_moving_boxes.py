"""Loops whose iterations do ever less, as those of decompositions: boxes that move, masks, and what is not unrolled."""

from __future__ import annotations

from pathlib import Path

import islpy as isl
import numpy as np
import pytest

import compiler
from compiler.bind.vector.design import VectorDesign
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.ir import Loop, Statement
from compiler.bind.vector.moving_boxes import MovingMask, moving_boxes
from compiler.bind.vector.sequential_loops import unrolled_form
from compiler.bind.vector.turns import Turns
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import load_c, parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.points import contains
from compiler.ir.program import Program

KERNELS = Path(__file__).resolve().parents[2] / "apps" / "polybench"


def kernel(name: str, size: int) -> Program:
    return load_c(KERNELS / f"{name}.c", N=size)


def compare(program: Program, **options: int) -> VectorDesign:
    """Compile to loops, execute, and compare with the interpreter."""
    design = compiler.compile(program, target="vector", **options)
    assert isinstance(design, VectorDesign) and longest(design.code.body) > 4
    inputs = random_inputs(program, 1)
    found = design.execute(inputs)
    for name, wanted in interpret(program, inputs).items():
        np.testing.assert_array_equal(found[name], wanted)
    return design


def longest(body: tuple[Statement, ...]) -> int:
    """Turns of the longest of the outermost loops."""
    return max((s.count for s in body if isinstance(s, Loop) and isinstance(s.count, int)), default=0)


SHAPES = {
    "square": ("for (int k = 0; k < 9; k++) for (int i = k + 1; i < 9; i++) for (int j = k + 1; j < 9; j++) "
               "a[i][j] -= a[i][k] * a[k][j];"),
    "triangle": ("for (int k = 0; k < 9; k++) for (int i = k + 1; i < 9; i++) for (int j = k + 1; j <= i; j++) "
                 "a[i][j] -= a[i][k] * a[j][k];"),
    "band": ("for (int k = 0; k < 9; k++) for (int i = k; i < 9 && i < k + 3; i++) for (int j = 0; j < 9 - k; j++) "
             "a[i][j] += a[k][j];"),
    "later": ("for (int k = 0; k < 9; k++) for (int i = 0; i < k - 4; i++) for (int j = 2; j < 5; j++) "
              "a[i][j] += a[k][j];"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_masks_are_the_iterations_of_each_turn(name: str) -> None:
    """The bits of every turn, read from the tables of constants, against the domain."""
    program = parse_scop(f"void f(short a[9][9]) {{\n#pragma scop\n{SHAPES[name]}\n#pragma endscop\n}}")
    statement = program.statements[-1]
    turns = Turns(1, 0, 8)
    boxes = moving_boxes(program, statement, turns)
    assert boxes is not None
    for turn in range(turns.count):
        around = boxes.around(statement, turn)
        assert isinstance(around.mask, MovingMask)
        lows = [around.box.dim_min_val(k).to_python() for k in range(3)]
        found = np.ones(boxes.sizes, np.bool_)
        for table in around.mask.tables():
            index = table.first + table.offset + sum(
                c * points for c, points in zip(table.rows, np.indices(boxes.sizes), strict=True))
            found &= table.words[index]
        columns = [axis.ravel() + low for axis, low in zip(np.indices(boxes.sizes), lows, strict=True)]
        wanted = contains(statement.domain, columns, found.size) & (columns[0] == turn)
        assert (found.ravel() == wanted).all() and found.sum() == count(statement.domain, turn)


def count(domain: isl.Set, turn: int) -> int:
    """Iterations of a turn."""
    points = np.indices((9, 9, 9)).reshape(3, -1)
    return int((contains(domain, list(points), points.shape[1]) & (points[0] == turn)).sum())


def test_turns_are_divided() -> None:
    assert list(Turns(1, 3, 12).divided(3)) == [Turns(1, 3, 5), Turns(1, 6, 8), Turns(1, 9, 12)]
    assert list(Turns(0, 5, 6).divided(4)) == [Turns(0, 5, 5), Turns(0, 6, 6)]


@pytest.mark.parametrize(("name", "size", "options"), [
    ("lu", 20, {}), ("lu", 40, {}), ("lu", 36, {"scratchpad": 4096}), ("cholesky", 36, {}),
    ("cholesky", 30, {"lanes": 1, "scratchpad": 4096}), ("ludcmp", 36, {}),
])
def test_decompositions_are_loops(name: str, size: int, options: dict[str, int]) -> None:
    compare(kernel(name, size), **options)


def test_code_of_a_decomposition_does_not_grow() -> None:
    """As many loops for 4 times as many rows; a turn of the larger one has loops over tiles inside."""
    small, large = (compiler.compile(kernel("lu", size), target="vector") for size in (200, 800))
    assert sum(isinstance(s, Loop) and s.count in (49, 50) for s in small.code.body) == 4
    assert sum(isinstance(s, Loop) and s.count in (199, 200) for s in large.code.body) == 4
    assert len(large.c_code.splitlines()) < 2500 and large.predicted_cycles < 64 * small.predicted_cycles


def test_small_decompositions_are_unrolled_right_looking() -> None:
    assert compiler.compile(kernel("lu", 8), target="vector").predicted_cycles < 7000


def test_what_is_too_large_to_be_unrolled_is_refused_before() -> None:
    program = kernel("nussinov", 40)
    size = unrolled_form(program)
    assert size is not None and size.rows > 10_000
    with pytest.raises(VectorTargetError) as caught:
        compiler.compile(program, target="vector")
    assert str(caught.value) == (
        f"{size.statement}: loops around it carry values from iteration to iteration, and have no form as loops "
        f"({program.statement('S10')}: it writes an element more than once in an iteration of a loop with a "
        f"loop-carried dependence); unrolled they would be about {size.rows} statements and {size.operations} vector "
        "instructions, and the vector target unrolls at most 1024 and 12000: compile the program for smaller arrays, "
        "or for fpga or dataflow")
    compiler.compile(kernel("nussinov", 6), target="vector")


def test_triangles_too_large_to_be_masked_are_refused() -> None:
    """Masks of triangles are made tile by tile: 256 rows are taken, more are refused at once, with the reason."""
    program = kernel("cholesky", 300)
    with pytest.raises(VectorTargetError) as caught:
        compiler.compile(program, target="vector")
    assert (
        f"({program.statement('S0')}: its instances in an iteration of a loop with a loop-carried dependence are a "
        "triangle in a box of 88804 points; the vector target masks triangles of up to 65536)"
    ) in str(caught.value)
