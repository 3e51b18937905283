"""Floating-point lanes: the core against the reference simulator, and a compiled program with memory that stalls."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from vector_core_cases import Cases, parameters, sources

import compiler
from compiler.bind.vector.design import VectorDesign
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import load_c, parse_scop
from compiler.ir.interpret import interpret
from hw.sim.bench import run_bench
from hw.sim.simulate import StallProfile
from hw.vector_lanes.isa import FLOAT, Control, Entry, Mode, Op
from hw.vector_lanes.spec import VectorSpec
from hw.vector_lanes.streams import random_memory

BENCH = Path(__file__).with_name("vector_core_bench.py")
FIR = Path(__file__).resolve().parents[1] / "apps" / "float" / "fir.c"


def test_random_streams(simulator: str) -> None:
    """Results are late, and waited for; other instructions pass them. Numbers of 32 bits and pairs of bfloat16."""
    play(VectorSpec(lanes=2, scratchpad_bytes=4096, float32=True, bfloat16=True), simulator)


def test_random_streams_on_pairs_alone() -> None:
    play(VectorSpec(lanes=1, scratchpad_bytes=4096, bfloat16=True, float_latency=5), "icarus")


def test_random_streams_with_fused_multiply_add(simulator: str) -> None:
    """It takes two cycles for two vectors, the old destination and these, between which others may wait."""
    play(VectorSpec(lanes=2, scratchpad_bytes=4096, float32=True, bfloat16=True, fma=True), simulator)


def test_fused_multiply_adds_on_each_others_results(simulator: str) -> None:
    """Operands overlap byte by byte, in one to three dimensions and behind a mask."""
    made = Cases(FUSED)
    for run in range(3):
        made.add(overlapping(run), random_memory(np.random.default_rng(run), 2048), gap=40 * run, stall=60 * run)
    start(made, simulator)


def test_two_vectors_keep_the_lanes_busy_for_two_cycles(simulator: str) -> None:
    """Without a bubble from one wavefront to the next, nor from the first cycle of one to its second."""
    made, length = Cases(FUSED), 64
    fused = Mode(Op.VMULFXP, in_size=FLOAT, out_size=FLOAT)
    entries = [Entry.of(Control.SET_VL, length), Entry.vector(fused, 0, 512, 1024),
               Entry.vector(replace(fused, scalar=True), 2048, 0x3F800001, 512)]
    waves = 3 * length // FUSED.lanes
    made.add(entries, np.zeros(0, np.uint8), dumps=False, busy=(waves, waves), bubbles=(0, 0))
    start(made, simulator)


FUSED = VectorSpec(lanes=2, scratchpad_bytes=4096, float32=True, bfloat16=True, fma=True)


def overlapping(seed: int) -> list[Entry]:
    """Instructions within some rows of the scratchpad."""
    rng, entries = np.random.default_rng(seed), [Entry.of(Control.DMA_TO_VECTOR, 0, 0, 2048)]
    for _ in range(60):
        half, dimensions = bool(rng.random() < 0.5), int(rng.integers(0, 3))
        mode = Mode(Op.VMULFXP, in_size=FLOAT, out_size=FLOAT, absolute=half, dimensions=dimensions,
                    enumerated=bool(rng.random() < 0.2), scalar=bool(rng.random() < 0.3))
        if dimensions == 0 and rng.random() < 0.3:
            size = 1 if half else 2
            entries += [Entry.of(Control.SET_VL, int(rng.integers(1, 20))),
                        Entry.vector(Mode(Op.VCMV_LTZ, True, size, size, absolute=True), 0, 0, 64)]
            mode = replace(mode, masked=True)
        d, a, b = (64 + int(place) for place in rng.integers(0, 48, 3))
        steps = [int(step) for step in rng.integers(-10, 10, 6)]
        entries += [Entry.of(Control.SET_VL, int(rng.integers(1, 20))), Entry.of(Control.SET_2D_ROWS, 3, steps[0]),
                    Entry.of(Control.SET_2D_SOURCES, *steps[1:3]), Entry.of(Control.SET_3D_MATS, 2, steps[3]),
                    Entry.of(Control.SET_3D_SOURCES, *steps[4:]),
                    Entry.vector(mode, d, 0x3F80 if mode.scalar else a, b)]
    return entries


def play(spec: VectorSpec, simulator: str) -> None:
    """Random instructions on the core, compared with the reference simulator."""
    made = Cases(spec)
    for run in range(4 if simulator == "verilator" else 1):
        made.add_random(600 + run, 300 if simulator == "verilator" else 60, gap=50 * run, stall=60 * run)
    start(made, simulator)


def start(made: Cases, simulator: str) -> None:
    """The cases on the core."""
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


def test_products_and_sums_that_are_rounded_once(simulator: str) -> None:
    """A matrix product by fmaf, where one factor stands for a row, and a polynomial."""
    program = parse_scop(FUSED_C, "fused.c")
    design = compiler.compile(program, target="vector", lanes=2, float32=True, fma=True)
    assert isinstance(design, VectorDesign)
    inputs = random_inputs(program, 6)
    run = design.simulate(inputs, simulator, seed=7, stall=StallProfile.uniform(0.25), latency=19)
    for name, wanted in interpret(program, inputs).items():
        np.testing.assert_array_equal(run.outputs[name].view(np.uint32), wanted.view(np.uint32))


FUSED_C = """#include <math.h>
void f(const float a[5][6], const float b[6][7], const float x[5][7], float c[5][7]) {
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 7; j++) {
            c[i][j] = fmaf(fmaf(0.3f, x[i][j], -0.7f), x[i][j], 0.1f);
            for (int k = 0; k < 6; k++)
                c[i][j] = fmaf(a[i][k], b[k][j], c[i][j]);
        }
}
"""
