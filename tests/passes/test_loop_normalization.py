"""Statements over their loops: the same program for the interpreter, other nests for a scheduler."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.cli.input_files import random_inputs
from compiler.frontend.loop_nest import load, prog
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.passes import directives as transform
from compiler.passes.normalize.loop_normalization import normalize_loops


def ramp() -> Program:
    """Something that uses its iterators."""
    prg = prog("ramp")
    prg.add_input("a", shape=(5, 7))
    prg.add_output("b")
    op = prg.add_loop("y", 1, 4).add_loop("x", 0, 7).add_op("Ramp")
    op.add_function(lambda word: word + 1)
    op.add_load("a", "x", "y")
    op.add_store("b", "x", "y - 1")
    return prg.build()


@pytest.mark.parametrize(("script", "iterators"), [
    ("reorder(x, y)", ("x", "y")), ("tile(y=2, x=3)", ("y_o", "x_o", "y_i", "x_i")), ("reverse(x)", ("y", "x")),
    ("reverse(y); reorder(x, y)", ("x", "y")), ("split(x, 4); reverse(x_i)", ("y", "x_o", "x_i")),
])
def test_iterators_become_loops(script: str, iterators: tuple[str, ...]) -> None:
    program = ramp()
    changed = transform.apply_script(program, script)
    ordered = normalize_loops(changed)
    assert ordered.statement("Ramp").iterators == iterators
    assert normalize_loops(ordered) is ordered
    inputs = random_inputs(program, 1)
    np.testing.assert_array_equal(interpret(ordered, inputs)["b"], interpret(program, inputs)["b"])
    assert str(ordered.order).count("-") == str(program.order).count("-")


def test_what_is_in_order_stays() -> None:
    for program in (ramp(), load("harris", width=16, height=16), transform.shift(ramp(), "y", 2)):
        assert normalize_loops(program) is program
