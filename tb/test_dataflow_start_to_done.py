"""Kernels from start to done: predicted within 2 % of RTL, every array over the bus once, goals over the bound."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

import compiler
from benchmarks.targets import programs
from compiler.bind.dataflow.design import DataflowDesign
from compiler.bind.dataflow.runtime_sizes import compile_sizes
from compiler.bind.design import Run
from compiler.cli.input_files import random_inputs
from compiler.frontend.apps import load
from compiler.frontend.c_scop import load_c, parse_scop
from compiler.ir.floating import same
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from hw.sim.simulate import StallProfile

TRANSPOSED = """void transposed(const signed char a[16][16], signed char b[16][16]) {
#pragma scop
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++)
            b[i][j] = a[j][i];
#pragma endscop
}
"""
FOUR = """void four(const int a[64], const int b[64], const int c[64], int d[64], int e[64]) {
#pragma scop
    for (int i = 0; i < 64; i++)
        d[i] = a[i] + b[i];
    for (int i = 0; i < 64; i++)
        e[i] = b[i] * c[i];
#pragma endscop
}
"""
BOUND_BY_MEMORY = """void sums(const int64_t a[24][32], const int64_t b[24][32], int64_t c[24][32]) {
#pragma scop
    for (int i = 0; i < 24; i++)
        for (int j = 0; j < 32; j++)
            c[i][j] = a[i][j] + b[i][j];
#pragma endscop
}
"""
UNALIGNED = TRANSPOSED.replace("[16][16]", "[13][13]").replace("< 16", "< 13")


def compiled(program: Program, **options: Any) -> DataflowDesign:
    design = compiler.compile(program, target="dataflow", **options)
    assert isinstance(design, DataflowDesign)
    return design


def ran(design: DataflowDesign, simulator: str, stall: StallProfile | None = None) -> Run:
    """A run, whose results and unstalled cycles are right."""
    inputs = random_inputs(design.program, 5)
    run = design.simulate(inputs, simulator, seed=3, stall=stall)
    for name, expected in interpret(design.program, inputs).items():
        assert same(run.outputs[name], expected)
    assert run.cycles == design.predicted_cycles
    return run


def predicted(design: DataflowDesign, simulator: str) -> Run:
    """A run that takes as long as was predicted."""
    run = ran(design, simulator)
    assert run.wall_cycles == pytest.approx(design.predicted_start_to_done, rel=0.02)
    assert run.wall_cycles >= design.lower_bound
    return run


@pytest.mark.parametrize("name", programs())
def test_start_to_done_is_predicted(name: str) -> None:
    predicted(compiled(programs()[name]()), "icarus")


@pytest.mark.parametrize("options", [
    {"memory_latency": 2}, {"memory_latency": 90}, {"memory_bursts": 1}, {"memory_bursts": 2, "memory_latency": 90},
    {"lanes": 4}, {"reorder": "chip"}, {"bus_bits": 128},
])
@pytest.mark.parametrize("name", ["four", "gaussian"])
def test_for_another_memory_and_more_streams(name: str, options: dict[str, Any]) -> None:
    program = parse_scop(FOUR) if name == "four" else load("gaussian", width=24, height=16)
    predicted(compiled(program, **options), "icarus")


def test_two_streams_that_need_more_than_the_port_gives(simulator: str) -> None:
    """Two words of 64 bits in each step: the port is busy in nearly every cycle."""
    design = compiled(parse_scop(BOUND_BY_MEMORY))
    run = predicted(design, simulator)
    assert design.bounds.binding == "transfers"
    assert run.wall_cycles <= 1.05 * design.lower_bound + 150


@pytest.mark.parametrize("size", [3, 6])
def test_for_sizes_of_a_run(size: int) -> None:
    sized = compile_sizes(partial(load_c, "apps/dataflow/matmul.c"), {"N": (2, 6)})
    predicted(sized.at(N=size), "icarus")


@pytest.mark.parametrize(("text", "bus_bits"), [
    (TRANSPOSED, 64), (FOUR, 64), (BOUND_BY_MEMORY, 64), (UNALIGNED, 64), (FOUR, 32), (UNALIGNED, 512)])
def test_chunks_under_way_with_random_stalls(text: str, bus_bits: int, simulator: str) -> None:
    """Several chunks of several streams are under way; whatever memory's gaps, words keep their places."""
    run = ran(compiled(parse_scop(text), bus_bits=bus_bits), simulator, StallProfile.uniform(0.4))
    assert run.stall_cycles > 0


def test_a_transposition(simulator: str) -> None:
    design = compiled(parse_scop(TRANSPOSED))
    run = predicted(design, simulator)
    assert run.wall_cycles <= 1.10 * design.lower_bound + 150
    assert run.counters["memory read beats"] == run.counters["memory write beats"] == 256 // 8
    assert design.array_traffic == dict.fromkeys("ab", "256 / 256 bytes, 32 / 32 beats")


def test_streams_of_one_array_count_together() -> None:
    """Four lanes: the array is moved in four streams, whose last beats are not full."""
    design = compiled(parse_scop(UNALIGNED), lanes=2)
    streams = [place for place in design.executable.places[0] if place.array.name == "a"]
    beats = sum(-(-place.bytes // 8) for place in streams)
    assert len(streams) > 1
    assert design.array_traffic["a"] == f"169 / 169 bytes, {beats} / 22 beats"


def test_a_product(simulator: str) -> None:
    design = compiled(load_c("apps/dataflow/matmul.c", N=16))
    run = predicted(design, simulator)
    assert run.wall_cycles <= 1.05 * design.lower_bound + 150


def test_a_stencil_of_128() -> None:
    design = compiled(load("gaussian", width=128, height=128))
    run = predicted(design, "verilator")
    assert run.wall_cycles <= 1.05 * design.lower_bound + 150
