"""Constants beside data on the vector processor: wider than the result, of another sign, on either side."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from c_targets import on_machine, require_gcc_results
from random_constants import constant_function
from random_data import function_data

FIRST = """#include <stdint.h>
static const int32_t table[4] = {10973, 70000, -5, 3};
void f(const int a[8], RESULT y[8]) {
#pragma scop
  for (int i = 0; i < 8; i++) {
    int32_t known = 10973;
    y[i] = VALUE;
  }
#pragma endscop
}
"""
DATA = np.array([0, 1, 2, 3, -1, -2, 2**31 - 1, -2**31], np.int32)


@pytest.mark.parametrize(("result", "value"), [
    ("int8_t", "10973 >> (a[i] & 1)"),
    ("int8_t", "known >> (a[i] & 1)"),
    ("int8_t", "table[0] >> (a[i] & 1)"),
    ("uint32_t", "0x80000000 >> (a[i] & 31)"),
    ("int8_t", "0x80000000 >> (a[i] & 31)"),
    ("uint32_t", "-5 >> (a[i] & 3)"),
    ("int16_t", "70000 >> (a[i] & 7)"),
    ("uint8_t", "(70000 >> (a[i] & 7)) < a[i]"),
])
def test_shifted_constants(result, value):
    text = FIRST.replace("RESULT", result).replace("VALUE", value)
    data = {"a": DATA, "y": np.zeros(8, result.removesuffix("_t"))}
    require_gcc_results(text, "f", data, on_machine, {"lanes": 4})


@pytest.mark.parametrize("seed", range(40))
def test_random_constants(seed):
    text = constant_function(Random(seed), "f")
    require_gcc_results(text, "f", function_data(text, "f", seed), on_machine, {"lanes": (1, 4, 16)[seed % 3]})
