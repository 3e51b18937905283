"""Iterations of an outer loop as statements of their own, and time steps for which the array does that itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import compiler
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import load_c
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.verify import verify
from compiler.passes.directives import TransformError, apply_script
from compiler.passes.directives.unroll_outer import unroll_outer, unroll_outer_script

KERNELS = Path(__file__).parents[2] / "apps" / "polybench"


def jacobi(size: int, steps: int) -> Program:
    return load_c(KERNELS / "jacobi_2d.c", N=size, TSTEPS=steps)


def test_the_same_results() -> None:
    program = jacobi(6, 3)
    assert unroll_outer_script(program) == "unroll_outer(t)"
    apart = apply_script(program, "unroll_outer(t)")
    verify(apart)
    assert [s.name for s in apart.statements if s.iterators[0] == "t"] == ["S0_0", "S0_1", "S0_2", "S1_0", "S1_1",
                                                                            "S1_2"]
    inputs = random_inputs(program, 4)
    for name, expected in interpret(program, inputs).items():
        np.testing.assert_array_equal(interpret(apart, inputs)[name], expected)


def test_loops_that_stay() -> None:
    assert unroll_outer_script(jacobi(6, 9)) == unroll_outer_script(load_c(KERNELS / "gemm.c")) == ""
    with pytest.raises(TransformError, match=r"the loop over 't' would become 80 statements; at most 64 are allowed"):
        unroll_outer(jacobi(6, 40), "t")


def test_time_steps_of_arrays_larger_than_the_buffer() -> None:
    """In one pass: the array computes an element of each step in a cycle."""
    design = compiler.compile(jacobi(192, 2), target="cgra", array="16x32")
    assert design.choices["transform"] == "unroll_outer(t)" and design.schedule.staged.tiles == 1
    assert design.predicted_start_to_done <= 1.5 * 192 ** 2
