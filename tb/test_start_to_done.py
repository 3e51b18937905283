"""Cycles from start to done on the array: what is predicted is what the hardware takes, for any latency of memory; and
bands, tiles and rings of any size are right when memory stalls."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import compiler
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from hw.sim.simulate import StallProfile

PROGRAMS = {
    "two inputs": """void f(const short a[30][40], const short b[30][40], short y[30][40]) {
    for (int i = 0; i < 30; i++) for (int j = 0; j < 40; j++) y[i][j] = 3 * a[i][j] + b[i][j];
}""",
    "stencil": """void f(const short a[26][50], short y[24][48]) {
    for (int i = 0; i < 24; i++) for (int j = 0; j < 48; j++) y[i][j] = a[i][j] + a[i + 1][j + 2] + a[i + 2][j + 1];
}""",
    "transposed": """void f(const short a[24][32], short y[32][24]) {
    for (int i = 0; i < 32; i++) for (int j = 0; j < 24; j++) y[i][j] = a[j][i] + 1;
}""",
    "odd rows": """void f(const short a[4][9][7], short y[4][9][7]) {
    for (int k = 0; k < 4; k++) for (int i = 0; i < 9; i++) for (int j = 0; j < 7; j++) y[k][i][j] = a[k][i][j] ^ 5;
}""",
    "product": """void f(const short a[6][8], const short b[8][7], short y[6][7]) {
    for (int i = 0; i < 6; i++) for (int j = 0; j < 7; j++) {
        y[i][j] = 0;
        for (int k = 0; k < 8; k++) y[i][j] += a[i][k] * b[k][j];
    }
}""",
}
KINDS = {"pub": "8x4", "dual-port": "8x4", "dual-port-pe": "8x4"}
MEMORIES = [{}, {"memory_latency": 3, "memory_bursts": 2}, {"memory_latency": 75, "memory_bursts": 5}]
TILED = {"odd rows": 1}
"""Tile loops that are asked for."""


@cache
def compiled(name: str, kind: str, memory: int) -> Any:
    options = MEMORIES[memory] | ({"tile_depth": TILED[name]} if name in TILED else {})
    return compiler.compile(parse_scop(PROGRAMS[name], "f.c"), memory=kind, array=KINDS[kind], **options)


def run(design: Any, simulator: str, **options: Any) -> Any:
    inputs = random_inputs(design.program, 1)
    result = design.simulate(inputs, simulator, **options)
    for name, value in interpret(design.program, inputs).items():
        np.testing.assert_array_equal(result.outputs[name], value)
    assert result.cycles == design.predicted_cycles
    return result


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_run_takes_the_predicted_cycles(name: str, kind: str, simulator: str) -> None:
    for memory in range(len(MEMORIES)):
        design = compiled(name, kind, memory)
        assert run(design, simulator).wall_cycles == design.predicted_start_to_done


def test_transfers_hide_behind_compute() -> None:
    """All but the first and the last band, and what starts and ends a run."""
    designs = {name: compiled(name, "dual-port", 0) for name in PROGRAMS}
    whole = {name: design.in_whole_tiles().predicted_start_to_done for name, design in designs.items()}
    assert all(design.predicted_start_to_done <= whole[name] for name, design in designs.items())
    stencil = designs["stencil"]
    assert stencil.predicted_start_to_done <= 1.05 * stencil.lower_bound + 150 < whole["stencil"]


def test_columns_come_in_blocks() -> None:
    """The first block of columns, the steps, and the last band: not the whole matrix before the steps."""
    turned = PROGRAMS["transposed"].replace("24", "32").replace(" + 1", "")
    design: Any = compiler.compile(parse_scop(turned, "f.c"), memory="dual-port", array="4x4")
    assert design.bands["a"].block and design.predicted_start_to_done <= 1.1 * design.lower_bound + 150
    assert any(compiled("transposed", "dual-port", memory).bands["a"].block for memory in range(len(MEMORIES)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_stalls_change_no_word(name: str, simulator: str) -> None:
    run(compiled(name, "dual-port", 1), simulator, seed=5, stall=StallProfile.uniform(0.4))


RINGS = ["""void f(const short a[40][24], short y[40][24]) {
    for (int i = 0; i < 40; i++) for (int j = 0; j < 24; j++) y[i][j] = a[i][j] - 1;
}""", """void f(const short a[40][26], short y[40][24]) {
    for (int i = 0; i < 40; i++) for (int j = 0; j < 24; j++) y[i][j] = a[i][j] ^ 3;
}"""]


@pytest.mark.parametrize("text", RINGS)
def test_a_tile_larger_than_a_bank(text: str, simulator: str) -> None:
    """960 words through banks of 256: as one tile, at the speed of the array, and right when memory stalls."""
    design = compiler.compile(parse_scop(text, "f.c"), array="2x4", half_words=128, tile_depth=0)
    assert design.schedule.staged.tiles == 1
    assert run(design, simulator).wall_cycles == design.predicted_start_to_done
    run(design, simulator, seed=3, stall=StallProfile.uniform(0.4))
