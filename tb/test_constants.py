"""Constants beside data in Verilog on both simulators: shifted by data, and looked up at known indices."""

from __future__ import annotations

import numpy as np
import pytest
from c_targets import require_gcc_results, simulated

SHIFTED = """
void f(const int a[8], signed char y[8], unsigned z[8]) {
#pragma scop
  for (int i = 0; i < 8; i++) {
    y[i] = 10973 >> (a[i] & 1);
    z[i] = 0x80000000 >> (a[i] & 31);
  }
#pragma endscop
}
"""
LOOKED_UP = """
static const int table[8] = {0, 1, 0, 1, 1, 0, 0, 1};
void f(const int a[8], signed char y[8], unsigned z[8]) {
#pragma scop
  for (int i = 0; i < 8; i++) {
    int known = 1;
    y[i] = table[known] + a[i];
    z[i] = table[a[i] & 0] - table[7];
  }
#pragma endscop
}
"""
DATA = {"a": np.array([0, 1, 2, 3, -1, -2, 77, -78], np.int32), "y": np.zeros(8, np.int8), "z": np.zeros(8, np.uint32)}


@pytest.mark.parametrize("text", [SHIFTED, LOOKED_UP], ids=["shifted", "looked_up"])
@pytest.mark.parametrize("target", ["fpga", "vector", "dataflow"])
def test_results_are_those_of_gcc(target, text, simulator):
    require_gcc_results(text, "f", DATA, simulated(target, simulator))
