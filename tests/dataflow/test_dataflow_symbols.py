"""Channels by symbols are those by looking at every word: the whole kernel has to be the same."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import islpy as isl
import numpy as np
import pytest
from network_programs import KERNELS, kernel, matmul

from compiler.analysis.counting import UncountedError
from compiler.bind.dataflow import build_kernel, iteration_counters
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.dataflow.iteration_counters import tick_clock
from compiler.bind.dataflow.options import Options
from compiler.bind.dataflow.plan import Plan, make_plan
from compiler.bind.dataflow.word_ticks import CountedTicks, SymbolicTicks
from compiler.frontend.apps import load
from compiler.frontend.c_scop import parse_scop
from compiler.ir.program import Program
from compiler.sched.process_network import channels, derive, instances, networks
from compiler.sched.process_network.channels import counted_traffic, symbolic_traffic

PROGRAMS: dict[str, Callable[[], Program]] = {
    "matmul": lambda: matmul(6),
    "jacobi": lambda: load("dataflow/jacobi_2d", N=8, T=2),
    "triangle": lambda: load("dataflow/triangular_solve", N=8),
    "convolution": lambda: load("conv_3_3", width=10, height=8),
    "harris": lambda: load("harris", width=12, height=11),
    "fir": lambda: load("dataflow/fir"),
    **{name: lambda name=name: kernel(name) for name in KERNELS},
}
QUICK = ("matmul", "convolution", "harris", "fir", "moving_average", "jacobi_1d")
"""Those whose kernels are compared: the others take minutes by symbols, which is why they are not counted so."""


def planned(program: Program, options: Options, monkeypatch: pytest.MonkeyPatch, few: int) -> Plan:
    monkeypatch.setattr(channels, "FEW_WORDS", few)
    monkeypatch.setattr(build_kernel, "FEW_WORDS", few)
    return make_plan(program, options)


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("options", [Options(), Options(reorder="chip")], ids=["host", "chip"])
def test_the_kernel_is_the_same(name: str, options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    program = PROGRAMS[name]()
    counted = planned(program, options, monkeypatch, 1 << 20)
    symbolic = planned(program, options, monkeypatch, 0)
    assert any(type(item.words).__name__ == "SymbolicTicks" for item in symbolic.carried)
    assert symbolic.kernel == counted.kernel
    assert symbolic.choices == counted.choices


@pytest.mark.parametrize("name", PROGRAMS)
def test_edges_are_the_same(name: str) -> None:
    network = derive(PROGRAMS[name]())
    compared = 0
    for edge in network.edges:
        counted = counted_traffic(edge, network.times)
        try:
            symbolic = symbolic_traffic(edge, network.times)
        except UncountedError as reason:
            assert str(reason) == "polynomials of high degree"
            continue
        compared += 1
        assert symbolic.words == counted.words
        assert symbolic.in_order() == counted.in_order()
        assert symbolic.few_distances(4) == counted.few_distances(4)
        assert [symbolic.high_water(first) for first in (True, False)] == \
            [counted.high_water(first) for first in (True, False)]
        assert [symbolic.crosses(k) for k in range(len(counted.read))] == \
            [counted.crosses(k) for k in range(len(counted.read))]
    assert compared


TRIANGULAR = {"lu": """
void lu(int A[N][N]) {
#pragma scop
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < i; j++) {
      for (int k = 0; k < j; k++) A[i][j] -= A[i][k] * A[k][j];
      A[i][j] += A[j][j];
    }
    for (int j = i; j < N; j++)
      for (int k = 0; k < i; k++) A[i][j] -= A[i][k] * A[k][j];
  }
#pragma endscop
}""", "intervals": """
void intervals(int A[N][N]) {
#pragma scop
  for (int i = N - 1; i >= 0; i--)
    for (int j = i + 1; j < N; j++)
      for (int k = i + 1; k < j; k++) A[i][j] += A[i][k] * A[k + 1][j];
#pragma endscop
}"""}


@pytest.mark.parametrize("name", TRIANGULAR)
def test_ticks_of_the_third_degree_are_the_same(name: str) -> None:
    network = derive(parse_scop(f"#define N 9\n{TRIANGULAR[name]}"))
    clock = tick_clock(network.times.values())
    assert max(term.value.degree for term in clock.walk.below) == 3
    for edge in network.edges:
        moved = counted_traffic(edge, network.times)
        counted = CountedTicks(clock.rank(moved.written), clock.rank(moved.read))
        relation = edge.relation.apply_domain(network.times[edge.source]).apply_range(network.times[edge.sink])
        symbolic = SymbolicTicks(relation, clock.walk, _not_counted)
        assert (symbolic.least, symbolic.constant, symbolic.in_order) == \
            (counted.least, counted.constant, counted.in_order)
        for extra in (-2, 0, 3):
            assert symbolic.high_water(extra) == counted.high_water(extra)


def _not_counted(reason: UncountedError) -> CountedTicks:
    raise reason


JACOBI = """
void jacobi(int A[N][N], int B[N][N]) {
#pragma scop
  for (int t = 0; t < 4; t++) {
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++) B[i][j] = A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j] + A[i - 1][j];
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++) A[i][j] = B[i][j] + B[i][j - 1] + B[i][j + 1] + B[i + 1][j] + B[i - 1][j];
  }
#pragma endscop
}"""


def test_the_schedule_is_as_good_by_symbols(monkeypatch: pytest.MonkeyPatch) -> None:
    program = parse_scop(f"#define N 14\n{JACOBI}")
    counted = next(networks(program, lambda _: True))
    monkeypatch.setattr(instances, "_MOST_INSTANCES", 0)
    symbolic = next(networks(program, lambda _: True))
    assert symbolic.times.keys() == counted.times.keys()
    ticks = [tick_clock(network.times.values()).ticks for network in (counted, symbolic)]
    assert ticks[0] == ticks[1]


def test_ticks_that_are_no_polynomials_are_looked_at(monkeypatch):
    ordered = isl.Map("{ S[a, b, c, d, e] -> [a, b, c, d, e] : 0 <= a <= b <= c <= d <= e < 5 }")
    clock = tick_clock([ordered])
    times = np.array([vector for vector in product(range(5), repeat=5) if sorted(vector) == list(vector)]).T
    monkeypatch.setattr(iteration_counters, "_FEW_TICKS", 0)
    with pytest.raises(UncountedError, match="polynomials of degree 5"):
        _ = clock.walk.below
    assert clock.rank(times).tolist() == list(range(times.shape[1]))
    monkeypatch.setenv("SLUICE_MAX_ITERATIONS", "100")
    with pytest.raises(DataflowError, match="the ticks of a kernel: 3125 values would have to be looked at one by one"):
        clock.rank(times)
