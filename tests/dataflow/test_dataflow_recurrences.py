"""The recurrence that has too few ticks is found by name, and what is said about it."""

from __future__ import annotations

import pytest

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
