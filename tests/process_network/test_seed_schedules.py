"""Times to start from: isl's scheduler answers for programs with many dependences, too."""

from __future__ import annotations

import compiler
from compiler.frontend.c_scop import parse_scop
from compiler.sched.process_network import seed_schedules

BUTTERFLIES = """#include <stdint.h>
static const int16_t COS[4] = {16384, 11585, 0, -11585}, SIN[4] = {0, -11585, -16384, -11585};
void butterflies(int16_t re[8], int16_t im[8]) {
  for (int s = 0; s < 3; s++) {
    int half = 1 << s;
    for (int k = 0; k < 4; k++) {
      int j = k & (half - 1), i = ((k >> s) << (s + 1)) + j, turn = j << (2 - s);
      int xr = (re[i + half] * COS[turn] - im[i + half] * SIN[turn]) >> 14;
      int xi = (re[i + half] * SIN[turn] + im[i + half] * COS[turn]) >> 14;
      int ar = re[i], ai = im[i];
      re[i] = (ar + xr) >> 1; im[i] = (ai + xi) >> 1;
      re[i + half] = (ar - xr) >> 1; im[i + half] = (ai - xi) >> 1;
    }
  }
}
"""


def test_many_dependences_have_an_order_of_isl(monkeypatch):
    """With all of them brought near each other isl takes minutes and finds nothing."""
    asked, by_isl = [], seed_schedules._by_isl

    def watched(program, dependences, *rest):
        found = list(by_isl(program, dependences, *rest))
        asked.append((sum(len(each.relation.get_basic_maps()) for each in dependences), len(found)))
        return iter(found)

    monkeypatch.setattr(seed_schedules, "_by_isl", watched)
    design = compiler.compile(parse_scop(BUTTERFLIES, "butterflies.c"), target="dataflow")
    assert max(asked)[0] > seed_schedules._MOST_PIECES and all(found for _, found in asked)
    assert design.predicted_cycles <= 69
