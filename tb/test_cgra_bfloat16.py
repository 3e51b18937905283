"""bfloat16 programs on the array, on both simulators, with memory that stalls: bit for bit what the interpreter and
ml_dtypes compute, in as many cycles as predicted."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from bfloat16_programs import BF16, PROGRAMS

import compiler
from compiler.ir.floating import same
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.types import Int
from hw.sim.simulate import StallProfile

ARRAY = "4x4"


@cache
def compiled(name: str) -> Any:
    return compiler.compile(PROGRAMS[name][0](), array=ARRAY, bfloat16=True)


def drawn(program: Program) -> dict[str, np.ndarray]:
    """Numbers of all sizes in a few places, moderate ones elsewhere."""
    generator, found = np.random.default_rng(5), {}
    for array in program.inputs:
        if isinstance(array.type, Int):
            found[array.name] = generator.integers(-(2**15), 2**15, array.shape)
            continue
        usual = generator.standard_normal(array.shape).astype(BF16)
        words = generator.integers(0, 1 << 16, array.shape).astype(np.uint16).view(BF16)
        with np.errstate(invalid="ignore"):
            anything = np.where(np.isnan(words), BF16(np.inf), words)
        found[array.name] = np.where(generator.random(array.shape) < 0.1, anything, usual).astype(np.float32)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_exact_and_on_time(name: str, simulator: str) -> None:
    design, (_, output, reference) = compiled(name), PROGRAMS[name]
    inputs = drawn(design.program)
    run = design.simulate(inputs, simulator, seed=11, stall=StallProfile.uniform(0.1))
    for array, expected in interpret(design.program, inputs).items():
        assert same(run.outputs[array], expected), array
    if reference is not None:
        with np.errstate(all="ignore"):
            expected = reference(inputs)
            canonical = np.where(np.isnan(expected), BF16(np.nan), expected).astype(np.float32)
        np.testing.assert_array_equal(run.outputs[output].view(np.uint32), canonical.view(np.uint32))
    assert run.cycles == design.predicted_cycles
