"""Memories whose addresses processing elements compute, with and without a counter operation, in whole runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler.frontend.apps import load
from compiler.ir.interpret import interpret
from hw.sim.simulate import StallProfile

SIZES: dict[str, dict[str, Any]] = {
    "gaussian": {"width": 40, "height": 4},
    "upsample": {"width": 64, "height": 2},
}
STALLED = {"seed": 0xADD2E55, "stall": StallProfile.uniform(0.4)}


@pytest.mark.parametrize(("counter", "simulator"), [(True, "icarus"), (True, "verilator"), (False, "icarus")])
def test_computed_addresses_are_exact_and_on_time(counter, simulator):
    """Also where the run stops now and then; the loop of the ramp, of cleared elements, must not see what it held."""
    for app, sizes in SIZES.items():
        program = load(app, **sizes)
        design = compiler.compile(program, memory="dual-port-pe", counter=counter, array="8x4")
        generator = np.random.default_rng(11)
        inputs = {a.name: generator.integers(a.type.minimum, a.type.maximum + 1, a.shape) for a in program.inputs}
        result = design.simulate(inputs, simulator, **(STALLED if app == "gaussian" else {}))
        for name, expected in interpret(program, inputs).items():
            np.testing.assert_array_equal(result.outputs[name], expected)
        assert result.cycles == design.predicted_cycles
