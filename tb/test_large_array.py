"""The full 16x32 array (384 PEs, 128 memory tiles): emits in time, lints clean and runs an application."""

from __future__ import annotations

import os

import numpy as np
import pytest
from verilog_lint import lint

import compiler
from compiler.frontend.apps import load
from compiler.ir.interpret import interpret
from hw.fabric.array import ARRAY_MODULE, emit_array
from hw.fabric.spec import FabricSpec, TileKind

SPEC = FabricSpec.parse("16x32")


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


def test_it_runs_gaussian():
    program = load("gaussian")
    design = compiler.compile(program, array="16x32")
    inputs = {"input": np.random.default_rng(2).integers(0, 256, (64, 64))}
    run = design.simulate(inputs, "verilator")
    np.testing.assert_array_equal(run.outputs["output"], interpret(program, inputs)["output"])
    assert run.cycles == design.predicted_cycles
