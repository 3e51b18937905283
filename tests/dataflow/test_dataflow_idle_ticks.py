"""Idle ticks: the clock adds what the model counts, and waits that come once per iteration of an outer loop leave the
inner ones at full rate."""

from __future__ import annotations

import random

import islpy as isl
import numpy as np
import pytest
from c_targets import MODELS, require_gcc_results

import compiler
from compiler.bind.dataflow.iteration_counters import Idle, idling_clock, tick_clock
from compiler.frontend.c_scop import parse_scop
from hw.dataflow.counters import counter_columns

TIMES = {
    "box": ["{ S[i, j, k] -> [i, j, k] : 0 <= i < 3 and 0 <= j < 4 and 0 <= k < 2 }"],
    "triangle": ["{ S[i, j, k] -> [i, j, k] : 0 <= k < j < i < 6 }", "{ T[i] -> [i, i, 0] : 0 <= i < 6 }"],
    "phases": ["{ S[i, j] -> [0, i, j] : 0 <= i < 4 and 0 <= j < 3 }",
               "{ T[i, j] -> [1, i, j] : 0 <= j <= i < 5 }"],
}


def drawn_idle(seed: int) -> list[Idle]:
    """Some of each kind, everywhere or in a part of the times."""
    draw = random.Random(seed)

    def one(level: int) -> Idle:
        lows = [draw.randint(0, 3) for _ in range(level)]
        where = tuple((low, low + draw.randint(0, 3)) for low in lows)
        return Idle(level, draw.randint(1, 6), draw.random() < 0.5 and level < 3, () if draw.random() < 0.4 else where)

    return [one(draw.randint(1, 3)) for _ in range(draw.randint(1, 4))]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", TIMES)
def test_the_clock_idles_as_the_model_counts(name: str, seed: int) -> None:
    times = [isl.Map(text) for text in TIMES[name]]
    idle = drawn_idle(seed)
    clock = tick_clock(times)
    later, added = clock.put_off(idle), clock.added(idle)
    counted = [time.add_dims(isl.dim_type.out, 1).fix_val(isl.dim_type.out, 3, isl.Val(0)) for time in times]
    idling = idling_clock(counted, idle)
    assert idling.ticks == clock.ticks + added
    columns = np.stack(counter_columns(idling.counters))
    assert (np.flatnonzero(columns[3] == 0) == np.arange(clock.ticks) + later).all()
    assert (columns[:3, columns[3] == 0] == np.stack(counter_columns(clock.counters))).all()


DIVIDED = """
#include <stdint.h>
void divided(const int16_t a[12][12], const int16_t d[12], int16_t x[12], int16_t s[12]) {
#pragma scop
  int16_t w;
  for (int i = 0; i < 12; i++) {
    w = 7;
    for (int j = 0; j < i; j++)
      w -= a[i][j] * x[j];
    x[i] = w / d[i];
  }
  for (int i = 0; i < 12; i++) {
    s[i] = x[i];
    for (int j = 0; j < 12; j++)
      s[i] += a[j][i];
  }
#pragma endscop
}
"""
DIVISION = 16
"""Ticks of a quotient of 16 bits at 120 MHz."""


def test_a_division_per_outer_iteration_is_waited_for_once() -> None:
    """Twelve divisions one after another, twelve times the last product and difference, and the sums."""
    design = compiler.compile(parse_scop(DIVIDED), target="dataflow")
    assert "ticks per time" not in design.choices
    assert "after each run of time dimension" in design.choices["idle ticks"]
    assert design.predicted_cycles < 12 * (DIVISION + 8) + 66 + 144


def test_idle_ticks_keep_the_values() -> None:
    draw = np.random.default_rng(2)
    given = {"a": draw.integers(-99, 99, (12, 12)).astype(np.int16), "d": draw.integers(1, 9, 12).astype(np.int16),
             "x": np.zeros(12, np.int16), "s": np.zeros(12, np.int16)}
    require_gcc_results(DIVIDED, "divided", given, MODELS["dataflow"])
