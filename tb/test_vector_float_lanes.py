"""Floating-point lanes: the core against the reference simulator, and a compiled program with memory that stalls."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from vector_core_cases import Cases, parameters, sources

import compiler
from compiler.bind.vector.design import VectorDesign
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import load_c
from compiler.ir.interpret import interpret
from hw.sim.bench import run_bench
from hw.sim.simulate import StallProfile
from hw.vector_lanes.spec import VectorSpec

BENCH = Path(__file__).with_name("vector_core_bench.py")
FIR = Path(__file__).resolve().parents[1] / "apps" / "float" / "fir.c"


def test_random_streams(simulator: str) -> None:
    """Results are late, and waited for; other instructions pass them. Numbers of 32 bits and pairs of bfloat16."""
    play(VectorSpec(lanes=2, scratchpad_bytes=4096, float32=True, bfloat16=True), simulator)


def test_random_streams_on_pairs_alone() -> None:
    play(VectorSpec(lanes=1, scratchpad_bytes=4096, bfloat16=True, float_latency=5), "icarus")


def play(spec: VectorSpec, simulator: str) -> None:
    """Random instructions on the core, compared with the reference simulator."""
    made = Cases(spec)
    for run in range(4 if simulator == "verilator" else 1):
        made.add_random(600 + run, 300 if simulator == "verilator" else 60, gap=50 * run, stall=60 * run)
    player = BENCH.with_suffix(".v")
    run_bench({player.name: player.read_text(), **sources(made.spec)}, "vector_core_bench", BENCH, simulator=simulator,
              parameters=parameters(made.spec), data=made.list)


def test_a_sum_in_the_order_of_the_program() -> None:
    program = load_c(FIR, N=13, TAPS=3)
    design = compiler.compile(program, target="vector", lanes=2, float32=True)
    assert isinstance(design, VectorDesign)
    inputs = random_inputs(program, 4)
    run = design.simulate(inputs, "icarus", seed=5, stall=StallProfile.uniform(0.25), latency=19)
    np.testing.assert_array_equal(run.outputs["y"].view(np.uint32), interpret(program, inputs)["y"].view(np.uint32))
