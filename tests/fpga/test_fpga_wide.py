"""Integers of more than 32 bits on the fpga target: values, memory words, iterators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from c_targets import on_pipeline, require_gcc_results, simulated

import compiler
from compiler.bind.fpga.errors import FpgaError
from compiler.frontend.c_scop import load_c, parse_scop
from hw.pipeline.spec import MergeCell, OperatorCell
from hw.pipeline.system import emit_pipeline

APPS = Path(__file__).parents[2] / "apps"

SUMS = """
#include <stdint.h>
void f(const int64_t a[4][8], const uint32_t b[8], int64_t y[4], uint64_t z[8]) {
#pragma scop
  for (int i = 0; i < 4; i++) {
    y[i] = 0;
    for (int j = 0; j < 8; j++)
      y[i] += a[i][j] * (int64_t)b[j];
  }
  for (int j = 0; j < 8; j++)
    z[j] = ((uint64_t)b[j] << 31) + (uint64_t)(a[0][j] >> 33) * j - (a[1][j] > a[2][j]) + (uint64_t)a[3][j];
#pragma endscop
}
"""

UNSIGNED = """
#include <stdint.h>
void f(const uint64_t a[8], int64_t y[8], uint64_t z[8], int32_t w[8]) {
#pragma scop
  for (int64_t i = 0; i < 8; i++) {
    y[i] = i * (int64_t)a[i] - (i << 40) + (-1 >> i);
    z[i] = a[i] / 3 + (a[7 - i] >> i) + (a[i] % 1000003) * (uint64_t)(i - 4);
    w[i] = (y[i] < (int64_t)a[i]) + 2 * (z[i] > a[i]);
  }
#pragma endscop
}
"""

MIXED_SIGNS = """
#include <stdint.h>
void f(const uint32_t x[16], const int32_t y[16], int32_t r[16]) {
#pragma scop
  for (int i = 0; i < 16; i++)
    r[i] = (x[i] < y[i]) * 4 + (y[i] < -5) * 2 + ((int64_t)x[i] < y[i]);
#pragma endscop
}
"""

POWERS = """
#include <stdint.h>
void f(const uint32_t x[12], uint32_t y[12]) {
#pragma scop
  uint32_t z = 3000000019;
  for (int i = 0; i < 12; i++) {
    z = ((z * z) >> 5) ^ x[i];
    y[i] = z;
  }
#pragma endscop
}
"""

FAR_ITERATOR = """
#include <stdint.h>
void f(int64_t y[4]) {
#pragma scop
  for (int64_t i = 5000000000; i < 5000000004; i++)
    y[i - 5000000000] = i;
#pragma endscop
}
"""


def words(dtype, shape) -> np.ndarray:
    """Random words, the limits of the type among them."""
    limits = np.iinfo(dtype)
    found = np.random.default_rng(7).integers(limits.min, limits.max, shape, dtype, endpoint=True)
    found.ravel()[:3] = limits.min, limits.max, 0
    return found


DATA = {
    SUMS: {"a": words(np.int64, (4, 8)), "b": words(np.uint32, 8), "y": np.zeros(4, np.int64),
           "z": np.zeros(8, np.uint64)},
    UNSIGNED: {"a": words(np.uint64, 8), "y": np.zeros(8, np.int64), "z": np.zeros(8, np.uint64),
               "w": np.zeros(8, np.int32)},
    POWERS: {"x": words(np.uint32, 12), "y": np.zeros(12, np.uint32)},
    MIXED_SIGNS: {"x": words(np.uint32, 16), "y": words(np.int32, 16)[::-1].copy(), "r": np.zeros(16, np.int32)},
}


@pytest.mark.parametrize("text", DATA, ids=["sums", "unsigned", "powers", "mixed signs"])
def test_wide_values(text):
    require_gcc_results(text, "f", DATA[text], on_pipeline)


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_wide_sums_in_hardware(simulator):
    require_gcc_results(SUMS, "f", DATA[SUMS], simulated("fpga", simulator))


def test_a_product_of_what_merges_select():
    """Its register is behind the products of parts, also if there are multiplexers between registers and these (both
    simulators run it in tb/test_irregular.py)."""
    design = compiler.compile(load_c(APPS / "irregular" / "mandelbrot.c"), target="fpga")
    cells = design.system.pipeline.cells
    products = [number for number, cell in enumerate(cells) if isinstance(cell, OperatorCell) and cell.op == "mul"]
    assert all(isinstance(cells[tap.cell], MergeCell) for number in products for tap in cells[number].operands)
    [text] = emit_pipeline(design.system.pipeline).values()
    assert len(products) == 3 and all(f"mul_{number}_part" in text for number in products)


def test_an_iterator_that_is_no_number_of_32_bits():
    with pytest.raises(FpgaError, match=r"iterator 'i' has values from 5000000000 to 5000000003, which are no numbers "
                                        r"of 32 bits; let it count from 0"):
        compiler.compile(parse_scop(FAR_ITERATOR), target="fpga")
