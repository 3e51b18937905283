"""Compiled systolic arrays in RTL simulation: every choice of space loops, sizes at run time, memory that stalls."""

from __future__ import annotations

import numpy as np
import pytest
from systolic_programs import kernel_app, scop

from compiler.bind.registry import compile_program
from compiler.bind.systolic.design import SystolicDesign
from compiler.bind.systolic.kernel import recognise
from compiler.input_files import random_inputs
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.sched.space_time import enumerate_arrays
from hw.sim.simulate import StallProfile

MM = ({"I": 3, "J": 4, "K": 5}, {"I": 5, "J": 1, "K": 3})
CNN = ({"O": 2, "H": 2, "W": 3, "I": 3, "P": 2, "Q": 1}, {"O": 3, "H": 1, "W": 2, "I": 2, "P": 1, "Q": 2})
SPACES = [("mm", sizes_, tuple(space)) for sizes_, spaces in ((MM, "i j k ij ik jk".split()),) for space in spaces]
SPACES += [("cnn", CNN, tuple(space)) for space in "o h w i oh ow oi hw hi wi".split()]


def compiled(program: Program, **options: object) -> SystolicDesign:
    design = compile_program(program, "systolic", **options)
    assert isinstance(design, SystolicDesign)
    return design


def right(design: SystolicDesign, simulator: str, seed: int = 1, stall: float = 0.2) -> int:
    """Cycles of a run on random inputs, which is bit-exact."""
    inputs = random_inputs(design.program, seed)
    run = design.simulate(inputs, simulator, seed=seed, stall=StallProfile.uniform(stall) if stall else None)
    expected = interpret(design.program, inputs)
    for name, values in expected.items():
        np.testing.assert_array_equal(run.outputs[name], values)
    assert run.counters["steps"] == design.plan.steps
    return run.cycles


def test_the_arrays_are_all_that_there_are() -> None:
    for name in ("mm", "cnn"):
        found = enumerate_arrays(recognise(kernel_app(name)).analysis)
        assert {space for app, _, space in SPACES if app == name} == set(found)


@pytest.mark.parametrize(("name", "sizes", "space"), SPACES)
def test_every_array_is_right_for_several_sizes(name: str, sizes: tuple[dict[str, int], ...], space: tuple[str, ...]
                                                ) -> None:
    """2 x 2 elements; the extents are odd, smaller than a tile, and 1. One build runs all sizes."""
    design = compiled(kernel_app(name, **sizes[0]), space=space, array=(2, 2)[: len(space)], simd="off",
                      time={"i": 2, "k": 2} if name == "mm" else {"i": 2, "h": 2})
    for seed, other in enumerate(sizes):
        right(design.for_sizes(kernel_app(name, **other)), "icarus", seed)
