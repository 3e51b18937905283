"""Every application on both memories and both simulators: bit-exact, and as many cycles as predicted.

Memory stalls and back-pressure are random (the seed is in every message); the array freezes for them, so they change
the clock cycles of a run but neither its results nor its unstalled cycles.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import compiler
from compiler.cli.input_files import random_inputs
from compiler.frontend.apps import load
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from hw.sim.simulate import StallProfile

ARRAY = "8x4"
FULL = {"verilator": {}, "icarus": {"width": 16, "height": 12}}
SIZES: dict[str, dict[str, dict[str, Any]]] = {
    "gaussian": FULL,
    "conv_3_3": FULL,
    "cascade": FULL,
    "upsample": FULL,
    "brighten_blur": {"verilator": {"tiles": 4}, "icarus": {"tiles": 3, "size": 12}},
    "gaussian_tiled": {"verilator": {"width": 64, "tile": 31}, "icarus": {"width": 20, "tile": 9}},
    "gaussian_pyramid": {"verilator": {}, "icarus": {"size": 16}},
    "fir": {"verilator": {}, "icarus": {"CHANNELS": 4, "N": 24}},
    "sobel": {"verilator": {}, "icarus": {"H": 8, "W": 24}},
}
TILE_DEPTH = {"brighten_blur": 1, "gaussian_tiled": 2}
"""Small versions of the tiled applications would fit the global buffer whole; tile them all the same."""


@cache
def compiled(app: str, memory: str, simulator: str) -> Any:
    options = {"tile_depth": TILE_DEPTH[app]} if app in TILE_DEPTH else {}
    return compiler.compile(load(app, **SIZES[app][simulator]), memory=memory, array=ARRAY, **options)


@cache
def run(app: str, memory: str, simulator: str, stall: StallProfile | None = None) -> tuple[Any, Any]:
    """The design and an exact run of it, once for all tests."""
    design = compiled(app, memory, simulator)
    program = design.program
    generator = np.random.default_rng(7)
    inputs = {a.name: generator.integers(a.type.minimum, a.type.maximum + 1, a.shape) for a in program.inputs}
    result = design.simulate(inputs, simulator, seed=0xC0FFEE, stall=stall)
    for name, expected in interpret(program, inputs).items():
        np.testing.assert_array_equal(result.outputs[name], expected)
    return design, result


@pytest.mark.parametrize("memory", ["pub", "dual-port"])
@pytest.mark.parametrize("app", SIZES)
def test_application_is_exact_and_on_time(app, memory, simulator):
    design, result = run(app, memory, simulator)
    assert result.cycles == design.predicted_cycles
    assert design.lower_bound <= result.cycles <= design.lower_bound + design.path_latency


@pytest.mark.parametrize("app", ["cascade", "upsample", "gaussian_tiled"])
def test_random_stalls_change_nothing_but_the_clock(app, simulator):
    design, calm = run(app, "pub", simulator)
    _, stalled = run(app, "pub", simulator, StallProfile.uniform(0.4))
    assert stalled.cycles == calm.cycles == design.predicted_cycles
    assert stalled.wall_cycles > calm.wall_cycles


def test_next_tile_loads_while_one_computes():
    """Only the first tile waits for memory; 4 tiles together stall hardly longer than one."""
    _, one = run("brighten_blur", "pub", "verilator")
    first_load = 64 * 64 * 2 // 8
    assert one.stall_cycles < 1.1 * first_load


def test_wide_fetch_loses_no_cycle():
    for app in ("gaussian", "conv_3_3", "cascade", "brighten_blur"):
        wide, dual = (compiled(app, memory, "verilator") for memory in ("pub", "dual-port"))
        assert wide.predicted_cycles - wide.path_latency == dual.predicted_cycles - dual.path_latency


def test_division_of_what_is_read_by_what_is_read(simulator):
    """A comparison and a subtraction for each of the two bits that the quotient can have."""
    program = parse_scop("""void f(const unsigned char a[40], const unsigned char b[40], short y[40]) {
#pragma scop
    for (int i = 0; i < 40; i++)
        y[i] = (a[i] & 7) / ((b[i] & 7) | 2);
#pragma endscop
}
""", "f.c")
    design = compiler.compile(program, memory="pub", array=ARRAY)
    inputs = random_inputs(program, 3)
    result = design.simulate(inputs, simulator, seed=5, stall=StallProfile.uniform(0.2))
    np.testing.assert_array_equal(result.outputs["y"], interpret(program, inputs)["y"])
    assert result.cycles == design.predicted_cycles
