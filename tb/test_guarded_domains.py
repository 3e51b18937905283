"""Programs on triangles on the array and on pipelines, on both simulators: bit-exact, as many cycles as predicted."""

from __future__ import annotations

from functools import cache
from random import Random

import numpy as np
import pytest
from random_triangles import random_triangle
from triangular_programs import triangular

import compiler
from compiler.bind.design import Design
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from hw.sim.simulate import StallProfile

ARRAYS = {"pub": "8x4", "dual-port": "8x4", "buffet": "4x4"}
"""The small arrays of the other benches, whose builds are there."""

SMALL = [*((name, memory) for name in ("trmv", "triu", "trmm", "factors") for memory in ("pub", "dual-port")),
         ("trmv", "buffet"), ("solve", "pub"), ("solve", "dual-port")]
RANDOM = {7: "pub", 15: "dual-port", 26: "pub"}
"""Seeds of random programs that fit the small array, and memories."""
TRANSPOSED = 2
"""Seed of a program whose elements come back transposed, from a nest that is deeper than their reader's."""


@cache
def compiled(name: str, **options: str) -> Design:
    """The design, compiled once for both simulators."""
    return compiler.compile(triangular(name, 6), **options)


def check(program: Program, design: Design, simulator: str) -> None:
    inputs = random_inputs(program, 3)
    run = design.simulate(inputs, simulator, seed=5, stall=StallProfile.uniform(0.2))
    for name, expected in interpret(program, inputs).items():
        np.testing.assert_array_equal(run.outputs[name], expected)
    assert run.cycles == design.predicted_cycles


@pytest.mark.parametrize(("name", "memory"), SMALL)
def test_triangles_on_the_array(name, memory, simulator):
    check(triangular(name, 6), compiled(name, memory=memory, array=ARRAYS[memory]), simulator)


@pytest.mark.parametrize("name", ["symmetric", "three cases", "checkerboard", "words of 32 bits",
                                  "factors by inverses", "reversed prefix"])
def test_triangles_on_pipelines(name, simulator):
    check(triangular(name, 6), compiled(name, target="fpga"), simulator)


@pytest.mark.parametrize("seed", RANDOM)
def test_random_parts_of_boxes(seed, simulator):
    program = parse_scop(random_triangle(Random(seed), 5), "f.c")
    check(program, compiler.compile(program, memory=RANDOM[seed], array=ARRAYS[RANDOM[seed]]), simulator)


def test_a_recurrence_of_nests_of_different_depth(simulator):
    program = parse_scop(random_triangle(Random(TRANSPOSED), 6), "f.c")
    check(program, compiler.compile(program, target="fpga"), simulator)
