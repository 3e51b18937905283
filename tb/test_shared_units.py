"""Statements that take turns on one set of units, on both memories and both simulators: bit-exact and on time.

Images are parts of a photograph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from shared_programs import shared_chains

import compiler
from compiler.cli.images import image_to_array, sample_image
from compiler.cli.input_files import random_inputs
from compiler.frontend.apps import load
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from hw.sim.simulate import StallProfile

ARRAY = "8x4"
"""The small array of the other benches, whose builds are there."""


def check(program: Program, memory: str, simulator: str, array: str = ARRAY, **options: Any) -> None:
    design = compiler.compile(program, memory=memory, array=array, **options)
    assert design.choices["shared units"] != "none"
    inputs = random_inputs(program, 3)
    inputs[program.image_input.name] = image_to_array(sample_image(), program.image_input)
    run = design.simulate(inputs, simulator, seed=5, stall=StallProfile.uniform(0.2))
    for name, expected in interpret(program, inputs).items():
        np.testing.assert_array_equal(run.outputs[name], expected)
    assert run.cycles == design.predicted_cycles


@pytest.mark.parametrize("memory", ["pub", "dual-port"])
def test_pyramid_on_the_units_of_one_stage(memory, simulator):
    check(load("gaussian_pyramid", size=16), memory, simulator, transform="share(Reduce_f1, Reduce_f2, Reduce_output)")


def test_layers_on_the_multipliers_of_one():
    """Sums that start from a constant, weights and windows, each layer after the other; five streams need an array of
    more columns, which is built quickly for Icarus only."""
    check(load("sr_cnn", size=10, channels=2, features=1, unroll=1, shared=True), "pub", "icarus", "4x8")


@pytest.mark.parametrize("memory", ["pub", "dual-port"])
def test_random_chain(memory, simulator):
    """Stages of one function with random windows, steps and sizes."""

    @settings(max_examples=2, deadline=None, database=None, phases=[Phase.explicit, Phase.generate],
              suppress_health_check=list(HealthCheck))
    @given(shared_chains())
    def run(program):
        check(program, memory, simulator)

    run()


@pytest.mark.parametrize("memory", ["pub", "dual-port"])
def test_a_window_in_rounds(memory, simulator):
    """A third of the products, constants that come like weights."""
    program = load("gaussian", width=34, height=9)
    design = compiler.compile(program, memory=memory, array=ARRAY, transform="fold(Gaussian, 3)")
    assert design.resources["PEs"] < 10
    inputs = {"input": image_to_array(sample_image(), program.image_input)}
    run = design.simulate(inputs, simulator, seed=7, stall=StallProfile.uniform(0.2))
    np.testing.assert_array_equal(run.outputs["output"], interpret(program, inputs)["output"])
    assert run.cycles == design.predicted_cycles
