"""Pipelines with several elements of a row at a time, in RTL: outputs equal the program's, cycles the prediction."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

import compiler
from compiler.bind.fpga.design import FpgaDesign
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret

PROGRAM = """void f(const unsigned char a[9][29], short y[7][27], unsigned char z[7][27]) {
#pragma scop
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 27; j++) {
            int s = a[i][j] - 2 * a[i + 1][j + 1] + a[i + 2][j + 2];
            y[i][j] = s * j;
            z[i][j] = s > 0 ? s : a[i][j + 1];
        }
#pragma endscop
}
"""


@lru_cache
def design(bus_bits: int) -> FpgaDesign:
    found = compiler.compile(parse_scop(PROGRAM), target="fpga", lanes=0, bus_bits=bus_bits)
    assert isinstance(found, FpgaDesign) and found.lanes == bus_bits // 16
    return found


@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
@pytest.mark.parametrize("bus_bits", [32, 64])
def test_ragged_rows_in_lanes(bus_bits: int, simulator: str) -> None:
    one = design(bus_bits)
    inputs = random_inputs(one.program, 3)
    run = one.simulate(inputs, simulator)
    for name, wanted in interpret(one.program, inputs).items():
        np.testing.assert_array_equal(run.outputs[name], wanted)
    assert run.cycles == one.predicted_cycles
    assert abs(run.wall_cycles - one.predicted_start_to_done) <= 0.02 * run.wall_cycles
