"""Parallel arrays as loop nests: what the reference says, with the arrays, types and places that are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from random_arrays import RandomProgram, random_inputs

import compiler
from compiler.frontend import parallel_array as pa
from compiler.frontend.apps import load
from compiler.frontend.parallel_array.lowering import loop_nests
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.types import ProgramError


def lowered(**outputs: pa.Array) -> Program:
    """Outputs as a program of loops."""
    return loop_nests(pa.program("p", **outputs))


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    random = np.random.default_rng(900 + seed)
    program = RandomProgram(random).grow(int(random.integers(2, 9)))
    inputs = random_inputs(program, random)
    found = interpret(loop_nests(program), inputs)
    for name, wanted in program.reference(inputs).items():
        np.testing.assert_array_equal(found[name].reshape(wanted.shape), wanted)


def test_views_have_no_statements_and_common_parts_one_array() -> None:
    x = pa.input("x", (8, 8), "int16")
    views = lowered(y=pa.shift(x.T[::2], 1, pa.CLAMP) + pa.tile(x, 2)[:4, :8])
    assert len(views.statements) == 1 and len(views.arrays) == 2
    sums = x[:, 1:] + x[:, :-1]
    shared = lowered(y=sums[1:] * sums[:-1])
    assert len(shared.statements) == 2 and len(shared.arrays) == 3
    assert len(lowered(y=(sums * 3) ^ 5).statements) == 1


def test_a_product_of_matrices_is_the_loops_that_one_would_write() -> None:
    a, b = pa.input("a", (4, 5), "int8"), pa.input("b", (5, 6), "int8")
    program = lowered(y=a.astype("int32") @ b.astype("int32"))
    assert [len(statement.iterators) for statement in program.statements] == [2, 3]
    assert program.statements[1].box() == {"i": (0, 3), "j": (0, 5), "k": (0, 4)}


def test_promises_narrow_inputs_and_prove_indices() -> None:
    t, x = pa.input("t", 16, "int16"), pa.input("x", (3, 4), "uint8", low=0, high=15)
    program = lowered(y=t[x] + t[15 - x])
    assert str(program.array("x").type) == "uint4" and not program.memories[0].trap
    assert lowered(y=t[pa.input("x", (3, 4), "uint8")]).memories[0].trap


def test_outputs_that_are_inputs_or_equal() -> None:
    x = pa.input("x", (3, 4), "int8")
    twice = x * 2
    data = np.arange(12, dtype=np.int8).reshape(3, 4)
    found = interpret(lowered(same=x, y=twice, z=twice, number=twice.sum()), {"x": data})
    assert (found["same"] == data).all() and (found["y"] == 2 * data).all() and (found["z"] == 2 * data).all()
    assert found["number"].shape == (1,) and found["number"] == 132


def test_sources_are_named() -> None:
    x = pa.input("x", 8, "int8")
    (statement,) = lowered(y=x * 2).statements
    assert statement.location is not None and statement.location.short.startswith("test_array_loops.py:")
    with pytest.raises(ProgramError, match=r"statement .y_value. .*test_array_loops.py:\d+.: index 9 is "):
        lowered(y=x[pa.full(3, 9)])


def test_applications_of_arrays_are_for_every_target() -> None:
    program = load("vector/life", rows=10, columns=12)
    assert isinstance(program, Program)
    design = compiler.compile(program, target="fpga")
    assert design.predicted_cycles < 2 * 120
