"""Orders in which pipelines write outputs and walk arrays, and refusals that give the reason that counts."""

from __future__ import annotations

import numpy as np
import pytest
from c_targets import MODELS, require_gcc_results, simulated

import compiler
from compiler.frontend.c_scop import parse_scop

QUASI_AFFINE = """
#include <stdint.h>
void f(const int16_t in[3][8], int16_t out[8][3], int16_t half[4][2]) {
#pragma scop
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 8; i++)
      out[i * 4 % 8 + i / 2][j] = in[j][i] * 3;
  for (int i = 0; i < 8; i++)
    half[(i + 2) / 2 % 4][i % 2] = in[0][i] - in[2][7 - i];
#pragma endscop
}
"""

PREFIXES = """
void f(const int r[6], int y[6]) {
  int row[6], total;
#pragma scop
  y[0] = r[0];
  total = r[0];
  for (int k = 1; k < 6; k++) {
    total += r[k];
    for (int i = 0; i < k; i++)
      row[i] = y[i] + total * y[k - i - 1];
    for (int i = 0; i < k; i++)
      y[i] = row[i];
    y[k] = total;
  }
#pragma endscop
}
"""


def data() -> dict[str, np.ndarray]:
    given = np.random.default_rng(3).integers(-30000, 30000, (3, 8), np.int16)
    return {"in": given, "out": np.zeros((8, 3), np.int16), "half": np.zeros((4, 2), np.int16)}


@pytest.mark.parametrize("target", ["fpga", "dataflow"])
def test_outputs_in_a_quasi_affine_order(target):
    require_gcc_results(QUASI_AFFINE, "f", data(), MODELS[target])


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_outputs_in_a_quasi_affine_order_in_hardware(simulator):
    require_gcc_results(QUASI_AFFINE, "f", data(), simulated("fpga", simulator))


@pytest.mark.parametrize("target", ["fpga", "dataflow"])
def test_reads_that_go_backwards_from_the_end_of_a_prefix(target):
    given = {"r": np.random.default_rng(4).integers(-30000, 30000, 6, np.int32), "y": np.zeros(6, np.int32)}
    require_gcc_results(PREFIXES, "f", given, MODELS[target])


def test_reads_in_pieces():
    """A read whose words come modulo a number, which no counter follows as a whole."""
    given = {"r": np.random.default_rng(4).integers(-30000, 30000, 6, np.int32), "y": np.zeros(6, np.int32)}
    turning = PREFIXES.replace("y[k - i - 1]", "y[(k - i - 1) % 3]")
    require_gcc_results(turning, "f", given, simulated("fpga", "icarus"))


PRODUCT = """
#include <stdint.h>
void f(const int8_t a[12][16], const int8_t b[16][12], int32_t c[12][12]) {
#pragma scop
  for (int i = 0; i < 12; i++)
    for (int j = 0; j < 12; j++) {
      c[i][j] = 0;
      for (int k = 0; k < 16; k++)
        c[i][j] += a[i][k] * b[k][j];
    }
#pragma endscop
}
"""


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_a_sum_moves_outside_where_its_operands_then_come_in_the_order_of_memory(simulator):
    asked = compiler.compile(parse_scop(PRODUCT), target="fpga", loops="asked")
    chosen = compiler.compile(parse_scop(PRODUCT), target="fpga")
    assert asked.predicted_start_to_done - chosen.predicted_start_to_done > 12 * 12  # b need not be there first
    random = np.random.default_rng(5)
    given = {"a": random.integers(-128, 128, (12, 16), np.int8), "b": random.integers(-128, 128, (16, 12), np.int8),
             "c": np.zeros((12, 12), np.int32)}
    require_gcc_results(PRODUCT, "f", given, simulated("fpga", simulator))


CONSTANTS = """
#include <stdint.h>
void f(const int16_t in[8], int16_t some[8], int32_t none[2][4]) {
#pragma scop
  for (int i = 0; i < 8; i++)
    none[i % 2][i / 2] = 5;
  for (int i = 0; i < 8; i++)
    some[i] = i < 5 ? in[i] : some[i];
#pragma endscop
}
"""


def test_constants_in_a_quasi_affine_order():
    given = {"in": np.arange(8, dtype=np.int16), "some": np.full(8, -9, np.int16), "none": np.zeros((2, 4), np.int32)}
    require_gcc_results(CONSTANTS, "f", given, MODELS["fpga"])
