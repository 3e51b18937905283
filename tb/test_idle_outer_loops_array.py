"""Recurrences that an idle outer loop gives time, on both simulators with random stalls."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from outer_recurrences import PROGRAMS

from compiler.bind.cgra.design import CgraDesign
from compiler.bind.cgra.target import Options, compile_program
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from hw.sim.simulate import StallProfile


@cache
def _compiled(name: str, memory: str) -> CgraDesign:
    return compile_program(parse_scop(PROGRAMS[name]), Options(memory=memory, array="8x4"))


@pytest.mark.parametrize("memory", ["pub", "dual-port"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_interpreter(name: str, memory: str, simulator: str) -> None:
    design = _compiled(name, memory)
    assert design.schedule.pace.idle
    inputs = random_inputs(design.program, 3)
    run = design.simulate(inputs, simulator, seed=5, stall=StallProfile.uniform(0.2))
    for array, expected in interpret(design.program, inputs).items():
        np.testing.assert_array_equal(run.outputs[array], expected)
    assert run.cycles == design.predicted_cycles
