"""Sums of 64 bits on the systolic array: constants, starts, ends and results beyond the range of int64."""

from __future__ import annotations

import pytest
from c_targets import MODELS, require_gcc_results, simulated
from random_data import function_data

HEAD = "#include <stdint.h>\n"
PROGRAMS = {
    "negative constant in an unsigned sum": """
void f(const int16_t a[3][4], const int16_t b[4], uint64_t y[3]) {
#pragma scop
  for (int i = 0; i < 3; i++) {
    y[i] = -128;
    for (int k = 0; k < 4; k++)
      y[i] += (int64_t)a[i][k] * b[k];
  }
#pragma endscop
}""",
    "smallest of unsigned words": """
void f(const uint8_t a[3][4], const int8_t b[4], uint64_t y[3]) {
#pragma scop
  for (int i = 0; i < 3; i++) {
    y[i] = 7;
    for (int k = 0; k < 4; k++)
      y[i] = (int64_t)a[i][k] * b[k] < y[i] ? (int64_t)a[i][k] * b[k] : y[i];
  }
#pragma endscop
}""",
    "wide sum that is shifted": """
void f(const int32_t a[3][4], const uint16_t b[4], uint32_t y[3]) {
#pragma scop
  for (int i = 0; i < 3; i++) {
    int64_t s = 0;
    for (int k = 0; k < 4; k++)
      s -= (a[i][k] - b[k]) * (a[i][k] - b[k]);
    y[i] = s >> 3;
  }
#pragma endscop
}""",
    "one element before and behind the sums": """
void f(const int8_t a[3][4], const int8_t b[2], int32_t y[3]) {
#pragma scop
  for (int i = 0; i < 3; i++) {
    int s = b[0] * 2;
    for (int k = 0; k < 4; k++)
      s |= 3 * a[i][k];
    y[i] = s + b[0];
  }
#pragma endscop
}""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_gcc(name):
    text = HEAD + PROGRAMS[name]
    require_gcc_results(text, "f", function_data(text, "f", 1), MODELS["systolic"])


def test_unsigned_results_leave_the_hardware():
    text = HEAD + PROGRAMS["negative constant in an unsigned sum"]
    require_gcc_results(text, "f", function_data(text, "f", 1), simulated("systolic", "icarus", "verilator"),
                        {"array": "2x1"})
