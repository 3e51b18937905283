"""Pipelines from start to done: predicted within 2 % of RTL, and every array over the bus once where that is faster."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler.bind.bounds import full_beats
from compiler.bind.design import Run
from compiler.bind.fpga.candidates import moved_beats
from compiler.bind.fpga.design import FpgaDesign
from compiler.cli.input_files import random_inputs
from compiler.frontend.apps import load
from compiler.frontend.c_scop import load_c, parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.program import Program

TRANSPOSED = """void transposed(const signed char a[16][16], signed char b[16][16]) {
#pragma scop
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++)
            b[i][j] = a[j][i];
#pragma endscop
}
"""
MIRRORED = TRANSPOSED.replace("a[j][i]", "a[i][15 - j]")
STRIDED = TRANSPOSED.replace("a[16][16]", "a[16][64]").replace("a[j][i]", "a[i][4 * j]")
WIDE = TRANSPOSED.replace("signed char", "int").replace("a[j][i]", "a[i][j] + 1")
FOUR = """void four(const int a[64], const int b[64], const int c[64], int d[64], int e[64]) {
#pragma scop
    for (int i = 0; i < 64; i++)
        d[i] = a[i] + b[i];
    for (int i = 0; i < 64; i++)
        e[i] = b[i] * c[i];
#pragma endscop
}
"""
UNALIGNED = TRANSPOSED.replace("[16][16]", "[13][13]").replace("< 16", "< 13")
COLUMNS = """void columns(const short a[12][12], short s[12]) {
#pragma scop
    for (int j = 0; j < 12; j++) {
        s[j] = 0;
        for (int i = 0; i < 12; i++)
            s[j] += a[i][j];
    }
#pragma endscop
}
"""
PROGRAMS: dict[str, Program] = {
    "transposed": parse_scop(TRANSPOSED), "mirrored": parse_scop(MIRRORED), "strided": parse_scop(STRIDED),
    "wide": parse_scop(WIDE), "four streams": parse_scop(FOUR), "unaligned": parse_scop(UNALIGNED),
    "columns": parse_scop(COLUMNS), "product": load_c("apps/dataflow/matmul.c", N=8),
    "gaussian": load("gaussian", width=22, height=14), "harris": load("harris", width=16, height=12),
    "upsample": load("upsample", width=15, height=11), "lanes": load("gaussian", width=16, height=18, lanes=4),
}


def ran(program: Program, simulator: str, **options: Any) -> tuple[FpgaDesign, Run]:
    """A design with a run of it, whose results and unstalled cycles are right."""
    design = compiler.compile(program, target="fpga", **options)
    inputs = random_inputs(program, 5)
    run = design.simulate(inputs, simulator)
    for name, expected in interpret(program, inputs).items():
        np.testing.assert_array_equal(run.outputs[name], expected)
    assert run.cycles == design.predicted_cycles
    assert isinstance(design, FpgaDesign)
    return design, run


@pytest.mark.parametrize("name", PROGRAMS)
def test_start_to_done_is_predicted(name: str) -> None:
    design, run = ran(PROGRAMS[name], "icarus")
    assert run.wall_cycles == pytest.approx(design.predicted_start_to_done, rel=0.02)
    assert run.wall_cycles >= design.lower_bound


@pytest.mark.parametrize("options", [{"memory_latency": 2}, {"memory_latency": 90}, {"memory_bursts": 1}])
def test_for_another_memory(options: dict[str, int]) -> None:
    design, run = ran(PROGRAMS["columns"], "icarus", **options)
    assert run.wall_cycles == pytest.approx(design.predicted_start_to_done, rel=0.02)


@pytest.mark.parametrize("options", [{"tile_depth": 0, "buffer_bits": 0}, {"tile_depth": 0, "bus_bits": 128}])
def test_burst_by_burst(options: dict[str, int]) -> None:
    """Without memory on the chip every element of a column is a burst of its own, with many under way."""
    design, run = ran(PROGRAMS["transposed"], "icarus", **options)
    assert run.wall_cycles == pytest.approx(design.predicted_start_to_done, rel=0.02)


def test_a_transposition_in_tiles(simulator: str) -> None:
    """Two orders meet in tiles: full beats both ways, and 1.1 times the bound and the start."""
    design, run = ran(PROGRAMS["transposed"], simulator)
    assert run.wall_cycles == pytest.approx(design.predicted_start_to_done, rel=0.02)
    assert run.wall_cycles <= 1.10 * design.lower_bound + 150
    assert run.counters["memory read beats"] == run.counters["memory write beats"] == 256 // 8
    assert design.array_traffic == dict.fromkeys("ab", "256 / 256 bytes, 32 / 32 beats")
    for stream in (*design.system.inputs, *design.system.outputs):
        assert moved_beats(stream, 64) == full_beats(design.program.array(stream.name), 64)


def test_a_product_reads_its_columns_from_the_chip(simulator: str) -> None:
    design, run = ran(load_c("apps/dataflow/matmul.c", N=16), simulator)
    assert run.wall_cycles <= 1.05 * design.lower_bound + 150
    beats = sum(full_beats(array, 64) for array in design.program.inputs)
    assert run.counters["memory read beats"] == beats
