"""Large arrays: the full 16x32 one (384 PEs, 128 memory tiles) emits in time and lints clean, and a quarter of it runs
an application (`benchmarks.applications` and `benchmarks.large_array` run them on all of it)."""

from __future__ import annotations

import os

import numpy as np
import pytest
from verilog_lint import lint

import compiler
from compiler.frontend.apps import load
from compiler.images import image_to_array, sample_image
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.types import Int
from hw.fabric.array import ARRAY_MODULE, emit_array
from hw.fabric.spec import FabricSpec, TileKind

SPEC = FabricSpec.parse("16x32")
QUARTER = "16x8"


@pytest.fixture(scope="module")
def emitted() -> tuple[dict[str, str], float]:
    """The array's Verilog, and the processor time that it took (the synthesiser runs as a child process)."""
    start = sum(os.times()[:4])
    sources = emit_array(SPEC)
    return sources, sum(os.times()[:4]) - start


def test_it_has_the_published_tiles_and_emits_in_under_a_minute(emitted):
    assert (len(SPEC.tiles(TileKind.PE)), len(SPEC.tiles(TileKind.MEM))) == (384, 128)
    assert emitted[1] < 60


def test_both_simulators_accept_all_of_it_without_a_warning(emitted, simulator, tmp_path):
    """All 512 tiles elaborated, with every check that the small arrays get (about a minute in Verilator)."""
    assert lint(emitted[0], ARRAY_MODULE, simulator, tmp_path) == ""


def test_a_quarter_runs_harris():
    """72 PEs and 5 memory tiles, on random numbers of every size and on a photograph, which has real corners."""
    program = load("harris")
    check(program, random_input(program, 3))
    photograph = image_to_array(sample_image(), program.image_input)
    corners = check(program, {program.image_input.name: photograph})
    assert 0 < np.count_nonzero(corners) < corners.size / 9


def random_input(program: Program, seed: int) -> dict[str, np.ndarray]:
    """Numbers from the whole range of the elements of the program's only input."""
    (array,) = program.inputs
    assert isinstance(array.type, Int)
    numbers = np.random.default_rng(seed).integers(array.type.minimum, array.type.maximum + 1, array.shape)
    return {array.name: numbers}


def check(program: Program, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """Run `program` on the array; its only output, which is exact and on time."""
    design = compiler.compile(program, array=QUARTER)
    run = design.simulate(inputs, "verilator")
    (output,) = interpret(program, inputs).items()
    np.testing.assert_array_equal(run.outputs[output[0]], output[1])
    assert run.cycles == design.predicted_cycles
    return output[1]
