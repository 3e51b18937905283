"""Random members of the array's class of programs, compiled, simulated and compared with the interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from random_programs import programs

import compiler
from compiler.bind.cgra.route import Unroutable
from compiler.bind.cgra.sites import ArrayTooSmall
from compiler.cli.input_files import random_inputs
from compiler.ir.interpret import interpret
from hw.sim.simulate import StallProfile

EXAMPLES = {"verilator": 9, "icarus": 3}
SMALLER = {"largest": 8, "stages": 2, "tiles": False}
"""Where processing elements compute addresses, fewer fit into the array."""


@pytest.mark.parametrize("memory", ["pub", "dual-port", "dual-port-pe"])
def test_random_program(memory, simulator):
    computed = memory == "dual-port-pe"

    @settings(max_examples=max(2, EXAMPLES[simulator] // (3 if computed else 1)), deadline=None, database=None,
              phases=[Phase.explicit, Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck))
    @given(programs(**SMALLER) if computed else programs(largest=10 if simulator == "verilator" else 8))
    def check(program):
        try:
            design = compiler.compile(program, memory=memory, array="8x4")
        except (ArrayTooSmall, Unroutable):
            assume(False)
            return
        inputs = random_inputs(program, 3)
        run = design.simulate(inputs, simulator, seed=5, stall=StallProfile.uniform(0.2))
        for name, expected in interpret(program, inputs).items():
            np.testing.assert_array_equal(run.outputs[name], expected)
        assert run.cycles == design.predicted_cycles

    check()
