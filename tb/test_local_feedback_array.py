"""A step per cycle inside processing elements, on both simulators, with stalls: bit-exact and on time."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from local_feedback_programs import LOCAL, local

import compiler
from compiler.bind.design import Design
from compiler.cli.input_files import random_inputs
from compiler.ir.interpret import interpret
from hw.sim.simulate import StallProfile


@cache
def compiled(name: str, memory: str) -> Design:
    return compiler.compile(local(name), memory=memory, array="8x4")


@pytest.mark.parametrize(("name", "memory"), [*((name, "dual-port") for name in LOCAL), ("sum", "pub"),
                                              ("products", "pub"), ("sum", "buffet")])
def test_recurrences_inside_elements(name: str, memory: str, simulator: str) -> None:
    design = compiled(name, memory)
    inputs = random_inputs(design.program, 3)
    run = design.simulate(inputs, simulator, seed=5, stall=StallProfile.uniform(0.2))
    for array, expected in interpret(design.program, inputs).items():
        np.testing.assert_array_equal(run.outputs[array], expected)
    assert run.cycles == design.predicted_cycles
