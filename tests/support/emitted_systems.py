"""A small system of every target, and what its simulation is made of, for tests of tools that read Verilog."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

import numpy as np

import compiler
from compiler.bind.design import Design, Run
from compiler.frontend.c_scop import parse_scop
from hw.sim.simulate import Job

__all__ = ["SYSTEMS", "emitted", "run_system", "system_design"]

_POINT = """void scale(const int16_t a[4][4], int16_t y[4][4]) {
#pragma scop
  for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) y[i][j] = a[i][j] * 3 + 1;
#pragma endscop
}"""
_PRODUCT = """void product(const int8_t A[4][4], const int8_t B[4][4], int32_t C[4][4]) {
#pragma scop
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      C[i][j] = 0;
      for (int k = 0; k < 4; k++) C[i][j] += A[i][k] * B[k][j];
    }
#pragma endscop
}"""
_RELAXATION = """void relax(int16_t A[4][4]) {
#pragma scop
  for (int t = 0; t < 2; t++)
    for (int i = 1; i < 3; i++)
      for (int j = 1; j < 3; j++)
        A[i][j] = (A[i - 1][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j]) / 4;
#pragma endscop
}"""
_LOOK_UP = """void look_up(const uint8_t a[8][8], int16_t y[6][6]) {
  static const int16_t gamma[4] = {0, 7, -3, 100};
#pragma scop
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++)
      y[i][j] = gamma[a[i][j] & 3] + a[i + 2][j] * a[i][j + 2];
#pragma endscop
}"""

SYSTEMS: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "fpga": ("fpga", _LOOK_UP, {}),
    "dataflow": ("dataflow", _POINT, {}),
    "cgra": ("cgra", _POINT, {"hardware": str(Path(__file__).with_name("small_banks.toml"))}),
    "vector": ("vector", _POINT, {}),
    "systolic": ("systolic", _PRODUCT, {"array": "2x2"}),
    "recurrence": ("systolic", _RELAXATION, {}),
}
"""Target, program and options of each system: the five targets, and the other one of the two systolic arrays."""


@lru_cache(maxsize=len(SYSTEMS))
def system_design(name: str) -> Design:
    """The system `name`, compiled once."""
    target, source, options = SYSTEMS[name]
    return compiler.compile(parse_scop(source, f"{name}.c"), target=target, **options)


def run_system(name: str, simulator: str) -> tuple[Run, Design, Mapping[str, np.ndarray]]:
    """A run of the system `name` on numbers that stay the same, and what it is a run of."""
    design = system_design(name)
    numbers = np.random.default_rng(1)
    inputs = {array.name: numbers.integers(0, 8, array.shape) for array in design.program.inputs}
    return design.simulate(inputs, simulator), design, inputs


class _Prepared(Exception):
    """Stops a simulation once its job is known."""

    def __init__(self, job: Job):
        super().__init__()
        self.job = job


def _stop(job: Job) -> NoReturn:
    raise _Prepared(job)


@lru_cache(maxsize=len(SYSTEMS))
def emitted(name: str) -> tuple[str, Mapping[str, str]]:
    """The top module and the Verilog files of the system `name`."""
    with mock.patch("hw.sim.simulate.prepare", _stop):
        try:
            run_system(name, "icarus")
        except _Prepared as stopped:
            return stopped.job.top, stopped.job.sources
    raise AssertionError("a simulation without a job")
