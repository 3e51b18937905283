"""Programs in tiles of their author's, whose loops become whole again: on both simulators, with random stalls."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.cli.input_files import read_inputs
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from hw.sim.simulate import StallProfile

STALLS = StallProfile(ar=0.3, r=0.3, aw=0.3, w=0.3)

BLOCKED_PRODUCT = """#include <stdint.h>
void f(const int16_t a[8][8], const int16_t b[8][8], int32_t c[8][8]) {
#pragma scop
  for (int jj = 0; jj < 8; jj += 4)
    for (int kk = 0; kk < 8; kk += 2)
      for (int i = 0; i < 8; i++)
        for (int k = 0; k < 2; k++)
          for (int j = 0; j < 4; j++)
            c[i][jj + j] += a[i][kk + k] * b[kk + k][jj + j];
#pragma endscop
}
"""

RAGGED_DOT = """#include <stdint.h>
void f(const int16_t x[30], const int16_t y[30], int32_t d[1]) {
#pragma scop
  d[0] = 0;
  for (int t = 0; t < 30; t += 8)
    for (int i = t; i < (t + 8 < 30 ? t + 8 : 30); i++)
      d[0] += x[i] * y[i];
#pragma endscop
}
"""


@pytest.mark.parametrize(("text", "most"), [(BLOCKED_PRODUCT, 8**3), (RAGGED_DOT, 30)], ids=["product", "ragged dot"])
@pytest.mark.parametrize("target", ["fpga", "dataflow"])
def test_results_are_those_of_the_tiled_program(target: str, text: str, most: int, simulator: str) -> None:
    program = parse_scop(text)
    design = compiler.compile(program, target=target)
    assert design.choices["loops coalesced"] == "tile loops of the program"
    assert design.predicted_cycles < 1.1 * most + 40
    inputs = read_inputs(program, [], 11)
    run = design.simulate(inputs, simulator, seed=5, stall=STALLS)
    for name, values in interpret(program, inputs).items():
        np.testing.assert_array_equal(run.outputs[name], values)
    assert run.cycles == design.predicted_cycles
