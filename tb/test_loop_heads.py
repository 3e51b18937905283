"""Programs as they are often written, with side effects in expressions and loops whose heads depend on data, in
hardware on both simulators, with stalls."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from c_targets import gcc_results, inputs_of

import compiler
from compiler.frontend.c_scop import parse_scop
from hw.sim.simulate import StallProfile

STALLS = StallProfile(ar=0.3, r=0.3, aw=0.3, w=0.3)

COUNTING_SORT = """void f(const unsigned char x[24], unsigned char y[24]) {
    int first[9] = {0};
    for (int i = 0; i < 24; i++)
        first[(x[i] & 7) + 1]++;
    for (int i = 0; i < 8; i++)
        first[i + 1] += first[i];
    for (int i = 0; i < 24; i++)
        y[first[x[i] & 7]++] = x[i];
}"""
ROWS = """void f(const unsigned char first[7], const int values[16], const unsigned char columns[16], const int x[8],
       int y[6]) {
    for (int i = 0; i < 6; i++) {
        int s = 0;
        for (int k = first[i]; k < first[i + 1]; k++)
            s += values[k] * x[columns[k] & 7];
        y[i] = s;
    }
}"""
SIEVE = """void f(const unsigned char x[16], int y[32]) {
    for (int i = 0; i < 32; i++)
        y[i] = i > 1;
    for (int i = 2; i * i < 32; i++)
        for (int j = i * i; j < 32; j += i)
            y[j] = 0;
    for (int i = 0; i < 16; i++)
        for (unsigned char v = x[i]; v; v >>= 2)
            y[i] += v & 3;
}"""


def _numbers(limit: int, count: int, kind: type = np.uint8) -> np.ndarray:
    return np.random.default_rng(limit).integers(0, limit, count).astype(kind)


PROGRAMS = {
    "counting sort": (COUNTING_SORT, {"x": _numbers(256, 24), "y": _numbers(9, 24)}, ("fpga", "dataflow")),
    "rows": (ROWS, {"first": np.array([0, 3, 3, 9, 10, 12, 16], np.uint8), "values": _numbers(99, 16, np.int32),
                    "columns": _numbers(255, 16), "x": _numbers(77, 8, np.int32), "y": _numbers(5, 6, np.int32)},
             ("fpga", "dataflow")),
    "sieve": (SIEVE, {"x": _numbers(256, 16), "y": _numbers(9, 32, np.int32)}, ("dataflow", "vector")),
}


@cache
def _design(case: str, target: str) -> Any:
    return compiler.compile(parse_scop(PROGRAMS[case][0], "f.c"), target=target)


@pytest.mark.parametrize(("case", "target"), [(case, target) for case in PROGRAMS for target in PROGRAMS[case][2]])
def test_hardware_computes_what_gcc_computes(case: str, target: str, simulator: str) -> None:
    text, data, _ = PROGRAMS[case]
    design = _design(case, target)
    wanted = gcc_results(text, "f", data)
    for stall in (StallProfile(), STALLS):
        run = design.simulate(inputs_of(design.program, data), simulator, seed=3, stall=stall)
        for name, values in run.outputs.items():
            np.testing.assert_array_equal(values, wanted[name])
        assert run.cycles <= design.predicted_cycles or not design.predicts_exactly
