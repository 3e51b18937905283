"""Rows F5, F13, F20, F24, F27 and F33 of Bok 2018 and beyond: loops that follow each other run together, and
recurrences over several loops keep their operators busy; outputs that are read again; words of 64 bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from kernel_bench import run_kernel

import compiler
from compiler.bind.dataflow.bounds import tick_bound
from compiler.bind.dataflow.design import DataflowDesign
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.dataflow.options import Options
from compiler.bind.dataflow.plan import Plan, make_plan
from compiler.bind.dataflow.validate import validate_kernel
from compiler.bind.design import check_inputs
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.sched.process_network import NodeKind

PRODUCTS = """
void f(const int16_t A[6][5], const int16_t B[5][5], const int16_t C[5][6], int16_t D[6][6]) {
  int16_t t[6][5];
#pragma scop
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 5; j++) {
      t[i][j] = 0;
      for (int k = 0; k < 5; k++) t[i][j] += A[i][k] * B[k][j];
    }
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) {
      D[i][j] = 0;
      for (int k = 0; k < 5; k++) D[i][j] += t[i][k] * C[k][j];
    }
#pragma endscop
}"""
TRANSPOSED = """
void f(const int16_t A[6][6], const int16_t y[6], const int16_t u[6], int16_t x[6], int16_t B[6][6]) {
#pragma scop
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) B[i][j] = A[i][j] + u[i] * u[j];
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) x[i] = x[i] + B[j][i] * y[j];
#pragma endscop
}"""
FILTER = """
void f(const int16_t a[6][5], int16_t y[6][5], int16_t z[6][5]) {
  int16_t p, q, r;
#pragma scop
  for (int i = 0; i < 6; i++) {
    p = 0; q = 0;
    for (int j = 0; j < 5; j++) {
      y[i][j] = (3 * a[i][j] + 5 * p - q) >> 2;
      q = p; p = y[i][j];
    }
  }
  for (int i = 0; i < 6; i++) {
    r = 0;
    for (int j = 4; j >= 0; j--) {
      z[i][j] = (2 * a[i][j] + 3 * r) >> 1;
      r = z[i][j];
    }
  }
#pragma endscop
}"""
SWEEPS = """
void f(int16_t A[6][6]) {
#pragma scop
  for (int t = 0; t < 2; t++)
    for (int i = 1; i < 5; i++)
      for (int j = 1; j < 5; j++)
        A[i][j] = (A[i-1][j+1] + A[i][j-1] + A[i][j] + A[i][j+1] + A[i+1][j-1]) / 5;
#pragma endscop
}"""
PATHS = """
void f(int16_t d[5][5]) {
#pragma scop
  for (int k = 0; k < 5; k++)
    for (int i = 0; i < 5; i++)
      for (int j = 0; j < 5; j++) d[i][j] = d[i][j] < d[i][k] + d[k][j] ? d[i][j] : d[i][k] + d[k][j];
#pragma endscop
}"""

NORMS = """
void f(int16_t A[6][4], int16_t R[4][4], int16_t Q[6][4]) {
  int16_t norm;
#pragma scop
  for (int k = 0; k < 4; k++) {
    norm = 0;
    for (int i = 0; i < 6; i++) norm += A[i][k] * A[i][k];
    R[k][k] = norm >> 4;
    for (int i = 0; i < 6; i++) Q[i][k] = A[i][k] / (R[k][k] | 1);
    for (int j = k + 1; j < 4; j++) {
      R[k][j] = 0;
      for (int i = 0; i < 6; i++) R[k][j] += Q[i][k] * A[i][j];
      for (int i = 0; i < 6; i++) A[i][j] -= Q[i][k] * R[k][j];
    }
  }
#pragma endscop
}"""
CROUT = """
void f(int16_t A[5][5]) {
  int16_t w;
#pragma scop
  for (int i = 0; i < 5; i++) {
    for (int j = 0; j < i; j++) {
      w = A[i][j];
      for (int k = 0; k < j; k++) w -= A[i][k] * A[k][j];
      A[i][j] = w / (A[j][j] | 1);
    }
    for (int j = i; j < 5; j++) {
      w = A[i][j];
      for (int k = 0; k < i; k++) w -= A[i][k] * A[k][j];
      A[i][j] = w;
    }
  }
#pragma endscop
}"""


MIRRORED = """
void f(const uint64_t a[3][3], uint64_t y[3][3], int64_t z[3]) {
#pragma scop
  for (int i = 0; i < 3; i++)
    for (int j = 0; j <= i; j++) y[i][j] = a[j][i];
  for (int i = 0; i < 3; i++)
    for (int j = i + 1; j < 3; j++) y[i][j] = y[j][i];
  for (int i = 0; i < 3; i++) z[i] = a[i][i] * a[0][i] - 1;
#pragma endscop
}"""


def plan_of(text: str, interleave: int | None = None, clock_mhz: int = 120,
            latency: Mapping[str, int] | None = None) -> Plan:
    options = Options(interleave=interleave, clock_mhz=clock_mhz, latency=latency)
    return make_plan(parse_scop("#include <stdint.h>" + text), options)


def check(plan: Plan, text: str) -> None:
    """The kernel computes what the program does, in the ticks that were predicted."""
    tested = parse_scop("#include <stdint.h>" + text)
    inputs = random_inputs(tested, 0)
    run = run_kernel(tested, plan, inputs, 0.1)
    for name, values in interpret(tested, inputs).items():
        assert np.array_equal(run.outputs[name], values), name
    assert run.ticks == plan.kernel.total_ticks


@pytest.mark.parametrize(("text", "most"), [(PRODUCTS, 1.13), (TRANSPOSED, 1.2)])
def test_f05_nests_that_follow_each_other_run_together(text: str, most: float) -> None:
    """The second nest starts when a row of the first is there, or walks it in the order in which it comes."""
    plan = plan_of(text)
    check(plan, text)
    assert plan.kernel.total_ticks <= most * tick_bound(plan.network, plan.pipelines).ticks


@pytest.mark.parametrize(("text", "most"), [(NORMS, 120), (CROUT, 60)])
def test_f05_statements_of_one_nest_overlap(text: str, most: int) -> None:
    """An update runs beside the sums of the next column (130 ticks else); statements in three loops go level by level,
    and those between them, in fewer loops, find their places (84 ticks else). Divisions are as fast as sums here."""
    plan = plan_of(text, latency={"div": 1})
    check(plan, text)
    assert plan.kernel.total_ticks <= most


@pytest.mark.parametrize(("text", "less"), [(FILTER, 3), (SWEEPS, 2), (PATHS, 2)])
def test_f27_levels_keep_deep_operators_busy(text: str, less: float) -> None:
    """Rows that are independent take turns; points of a diagonal follow each other. Without that the whole data path
    waits for every recurrence, less so where the clock leaves time for several operators in a tick."""
    plan = plan_of(text)
    check(plan, text)
    assert "interleaved" in plan.choices
    assert less * plan.kernel.ticks <= plan_of(text, interleave=1, clock_mhz=500).kernel.ticks
    chained = plan_of(text, interleave=1)
    check(chained, text)
    assert plan.kernel.ticks <= chained.kernel.ticks


def test_f13_an_output_that_is_read_again_leaves_all_the_same() -> None:
    """Every statement here only copies, one of them from an output: that is none that delivers words."""
    narrow = MIRRORED.replace("int64_t", "int16_t")
    plan = plan_of(narrow)
    check(plan, narrow)
    assert [node.name for node in plan.network.nodes if node.kind is NodeKind.OUTPUT] == ["Write_y", "Write_z"]


def test_f33_what_never_leaves_is_noticed() -> None:
    plan = plan_of(MIRRORED)
    nodes = [replace(n, kind="compute") if n.name == "Write_y" else n for n in plan.kernel.nodes]
    with pytest.raises(DataflowError, match=r"kernel scop: what node Write_y writes to 'y' never leaves"):
        validate_kernel(replace(plan.kernel, nodes=tuple(nodes)), plan.network.program, plan.network.times)


def test_f24_words_of_64_bits_at_the_ends_of_their_range() -> None:
    tested = parse_scop("#include <stdint.h>" + MIRRORED)
    design = compiler.compile(tested, target="dataflow")
    assert isinstance(design, DataflowDesign)
    values = np.array([[0, 2**64 - 1, 2**63], [2**63 - 1, 1, 2], [3, 4, 2**64 - 2]], np.uint64)
    loads = design.executable.loads(check_inputs(tested, {"a": values}))
    assert sorted(np.frombuffer(loads[0][1], "<u8").tolist()) == [0, 1, 2, 2**63, 2**64 - 2, 2**64 - 1]
    expected = interpret(tested, {"a": values})
    dumps = tuple(place.packed(expected[place.array.name]) for place in design.executable.places[1])
    for name, found in design.executable.outputs(dumps).items():
        assert found.dtype == expected[name].dtype
        assert np.array_equal(found, expected[name])
    assert random_inputs(tested, 0)["a"].dtype == np.uint64


def test_f20_a_level_is_as_long_as_its_operators_are_deep() -> None:
    """One diagonal after the other, with the least idle ticks: one less is refused by what proves kernels."""
    plan = plan_of("""
void f(int16_t A[9][9]) {
#pragma scop
  for (int i = 1; i < 9; i++)
    for (int j = 1; j < 9; j++) A[i][j] = A[i - 1][j] + A[i][j - 1] * 3;
#pragma endscop
}""")
    assert plan.choices["idle ticks"].startswith("up to")
    assert plan.kernel.total_ticks < 15 * 8 + 81


def test_f20_terms_that_are_late_enter_sums_last() -> None:
    """A sweep in place waits for its last addition and the division, not for four additions. The order of float terms
    stays, and that of sums whose own term is the last one already."""
    plan = plan_of(SWEEPS)
    check(plan, SWEEPS)
    assert plan.choices["terms"] == "in S0 by the time at which they are there"
    subscripts = [str(read.map) for read in plan.network.program.statement("S0").reads]
    urgent = next(k for k, text in enumerate(subscripts) if "[i, -1 + j]" in text)
    assert plan.pipelines["S0"].offsets[urgent] == max(plan.pipelines["S0"].offsets)
    for text in (SWEEPS.replace("int16_t", "float").replace("/ 5", "* 0.2f"), PRODUCTS, PATHS):
        assert "terms" not in plan_of(text).choices
