"""Short recurrences: a step per tick where the operators' delays allow it at the clock rate; the one that has too few
ticks is found by name, and what is said about it."""

from __future__ import annotations

import numpy as np
import pytest
from c_targets import MODELS, require_gcc_results
from chained_programs import RECURRENCES, recurrence

import compiler
from compiler.bind.dataflow import plan as planning
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.dataflow.options import Options
from compiler.frontend.c_scop import parse_scop

TEXT = """
void f(const int a[8], int y[8], int z[8]) {
#pragma scop
  y[0] = a[0];
  for (int i = 1; i < 8; i++)
    y[i] = (y[i - 1] ^ a[i]) + 3;
  for (int i = 0; i < 8; i++)
    z[i] = y[i] + a[i];
#pragma endscop
}
"""


def test_the_statement_of_the_recurrence_is_named(monkeypatch):
    monkeypatch.setattr(planning, "slowdown", lambda *_: 1)  # as if no rate were slow enough
    with pytest.raises(DataflowError, match=r"^statement 'S1' \(.*:6\): the recurrence latency "
                                            r"\(\d+ ticks in 'S1'\) exceeds the distance .*; compute what does not "):
        planning.make_plan(parse_scop(TEXT), Options(latency={"add": 4, "xor": 3}, interleave=1))


CONSTANT = """
#include <stdint.h>
#include <stdbool.h>
static const int32_t known[4] = {3u, 65536, 5, 128};
void f(const uint16_t other[4][4], bool in[4]) {
#pragma scop
  for (int i = 0; i < 4; i++) {
    int64_t s = 0;
    for (int j = 0; j < i + 1; j++)
      for (int k = 0; k < 4; k++)
        s |= in[j > 0 ? j - 1 : 0];
    in[i] = s * 3 + known[2 * i - i];
  }
#pragma endscop
}
"""


def test_a_node_of_a_recurrence_whose_value_is_known():
    given = {"other": np.zeros((4, 4), np.uint16), "in": np.array([True, False, True, True])}
    require_gcc_results(CONSTANT, "f", given, MODELS["dataflow"], {"lanes": 1, "interleave": 5})


START = 6
"""Ticks until the first value is in the recurrence, and from the last one to the output."""


@pytest.mark.parametrize("name", RECURRENCES)
def test_a_step_per_tick(name):
    design = compiler.compile(recurrence(name), target="dataflow")
    assert design.choices["chained"] == "operators of recurrences, at 120 MHz"
    assert design.predicted_cycles <= RECURRENCES[name][1] + START


def test_a_faster_clock_takes_more_ticks_per_step():
    slow, fast = (compiler.compile(recurrence("iir"), target="dataflow", clock_mhz=clock) for clock in (120, 250))
    assert fast.choices["ticks per time"].startswith("2: ")
    assert 2 * RECURRENCES["iir"][1] <= fast.predicted_cycles < 3 * slow.predicted_cycles


def test_latencies_that_are_asked_for_stay():
    asked = compiler.compile(recurrence("iir"), target="dataflow", latency={"add": 3})
    adders = {o.latency for node in asked.plan.kernel.nodes for o in node.operators if o.op == "add"}
    assert adders == {3} and asked.choices["ticks per time"].startswith("3: ")


def test_other_clock_rates():
    with pytest.raises(DataflowError, match=r"^clock_mhz is 0, not in 1\.\.500$"):
        Options(clock_mhz=0)
