"""Copies of a statement on strips of an image: as many streams, bit-exact, and as much faster as there are lanes."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.frontend.loop_nest import load
from compiler.ir.interpret import interpret
from hw.sim.simulate import StallProfile


@pytest.mark.parametrize("memory", ["pub", "dual-port"])
def test_two_lanes_take_half_the_cycles(memory: str, simulator: str) -> None:
    width, height = (64, 66) if simulator == "verilator" else (16, 14)
    program = load("gaussian", width=width, height=height, lanes=2)
    design = compiler.compile(program, memory=memory, array="8x4")
    generator = np.random.default_rng(11)
    inputs = {"input": generator.integers(0, 1 << 16, (height, width))}
    expected = interpret(load("gaussian", width=width, height=height), inputs)["output"]
    run = design.simulate(inputs, simulator, seed=5, stall=StallProfile.uniform(0.3))
    np.testing.assert_array_equal(run.outputs["output"], expected)
    assert run.cycles == design.predicted_cycles
    assert design.lower_bound == width * (height // 2 + 1)
    assert run.cycles <= design.lower_bound + design.path_latency
