"""Large images tile by tile, any size: halos computed again, last tiles filled up by the host, on both memories and
both simulators, with the transfers of a tile hidden behind the next one."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.cli.images import image_to_array, sample_image
from compiler.frontend.apps import load
from compiler.ir.interpret import interpret
from hw.sim.simulate import StallProfile

ARRAY = "8x4"
"""The small array of the other benches, whose builds are there."""


CASES = {
    "verilator": {
        "gaussian": ({"width": 45, "height": 37}, {"y": 16, "x": 20}),
        "gaussian_pyramid": ({"size": 64}, {"y_output": 3, "x_output": 4}),
        "upsample": ({"width": 20, "height": 12}, {"y": 10, "x": 28}),
    },
    "icarus": {
        "gaussian": ({"width": 29, "height": 17}, {"y": 8, "x": 14}),
        "gaussian_pyramid": ({"size": 36}, {"y_output": 2, "x_output": 3}),
        "upsample": ({"width": 14, "height": 7}, {"y": 8, "x": 18}),
    },
}
"""By simulator and application: sizes, and those of a tile."""


@pytest.mark.parametrize("memory", ["pub", "dual-port"])
@pytest.mark.parametrize("app", CASES["verilator"])
def test_tiles(app, memory, simulator):
    parameters, tiles = CASES[simulator][app]
    program = load(app, **parameters)
    text = ", ".join(f"{name}={size}" for name, size in tiles.items())
    design = compiler.compile(program, memory=memory, array=ARRAY, transform=f"overlap({text})", tile_depth=2)
    assert design.schedule.staged.tiles > 3
    assert design.predicted_cycles <= 1.05 * design.lower_bound
    inputs = {"input": image_to_array(sample_image(), program.image_input)}
    run = design.simulate(inputs, simulator, seed=3, stall=StallProfile.uniform(0.1))
    np.testing.assert_array_equal(run.outputs["output"], interpret(program, inputs)["output"])
    assert run.cycles == design.predicted_cycles
