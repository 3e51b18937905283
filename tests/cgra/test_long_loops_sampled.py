"""Memories of long loops are planned from a few iterations: as from all of them, which small sizes show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import compiler
from compiler.bind.buffers import block_times, iteration_samples, sequences
from compiler.bind.buffers.iteration_samples import near_ends
from compiler.bind.buffers.nest_fit import FittedNest
from compiler.bind.cgra.budget import Budget
from compiler.bind.cgra.candidate import Candidate
from compiler.bind.cgra.mapping import Application
from compiler.bind.cgra.options import Options
from compiler.bind.cgra.relaxation import Relaxation
from compiler.bind.cgra.stages import Stages
from compiler.bind.cgra.validate import enumeration
from compiler.frontend.c_scop import load_c, parse_scop
from compiler.ir.program import Program

KERNELS = Path("apps") / "polybench"


UNIT_TRIANGULAR = """
#include <stdint.h>
void solve(const int16_t L[22][22], int16_t x[22], const int16_t b[22])
{
#pragma scop
  for (int i = 0; i < 22; i++) {
    x[i] = b[i];
    for (int j = 0; j < i; j++)
      x[i] -= L[i][j] * x[j];
  }
#pragma endscop
}
"""


def program(name: str) -> Program:
    sizes = {"trisolv": {"N": 44}, "gemm": {"NI": 24, "NJ": 40, "NK": 28}, "mvt": {"N": 40}}
    return load_c(KERNELS / f"{name}.c", **sizes[name])


def few_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (sequences, iteration_samples, block_times):
        monkeypatch.setattr(module, "MOST_LISTED", 256)


def mapped(name: str, memory: str, relaxation: Relaxation) -> Application:
    options = Options(array="16x32", memory=memory)
    stages = Stages(program(name), options, Budget.of_array(options.fabric()), merged=False)
    return stages.application(Candidate(relaxation=relaxation))


@pytest.mark.parametrize(("name", "memory"), [
    ("trisolv", "pub"), ("trisolv", "dual-port"), ("gemm", "dual-port"), ("mvt", "dual-port")])
def test_buffers_are_those_of_all_iterations(name: str, memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    relaxation = Relaxation(4, rings=False, sparse=memory == "pub" and name == "trisolv")
    every = mapped(name, memory, relaxation)
    few_are_listed(monkeypatch)
    some = mapped(name, memory, relaxation)
    sampled = [read.samples for tile in some.memories for buffer in tile.buffers for read in buffer.reads]
    assert any(samples is not None for samples in sampled)
    assert some.netlist == every.netlist


@pytest.mark.parametrize("memory", ["pub", "dual-port"])
def test_a_plan_of_a_few_iterations_is_proven_for_all(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    few_are_listed(monkeypatch)
    for limit in ("_CHEAP", "_QUICK", "_MOST"):
        monkeypatch.setattr(enumeration, limit, 0)
    design = compiler.compile(parse_scop(UNIT_TRIANGULAR), target="cgra", memory=memory)
    assert any(read.samples is not None for tile in design.application.memories for buffer in tile.buffers
               for read in buffer.reads)
    assert design.validate().reads > 5


def test_sampled_loops_are_fitted_as_if_they_were_listed() -> None:
    trips = (60, 50, 7)
    samples = iteration_samples.IterationSamples.few(trips, [[30], [], []])
    assert samples.sampled == []  # these are few
    kept = tuple(near_ends(count, ()) for count in trips[:2])
    samples = iteration_samples.IterationSamples(trips, (*kept, np.arange(7)))
    outer, middle, inner = samples.grid()
    time, address = 900 * outer + 17 * middle + 2 * inner, 4 * middle - inner
    assert samples.steps(time) == [900, 17]
    assert samples.steps(np.where(outer > 40, 1, 0)) is None
    found = samples.fit(lambda chosen: [time[chosen], address[chosen]], 3)
    assert found == FittedNest((7, 50, 60), ((2, 17, 900), (-1, 4, 0)), (0, 0))
    merged = samples.fit(lambda chosen: [(50 * outer + middle)[chosen] * 7 + inner[chosen]], 3)
    assert merged is not None and merged.ranges == (7 * 50, 60)
