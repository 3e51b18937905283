"""Which loops statements share, and what recurrences innermost loops may carry."""

from __future__ import annotations

from compiler.analysis.common_loops import in_nests, innermost_recurrences
from compiler.analysis.dependences import flow
from compiler.frontend.c_scop import parse_scop

PASSES = """void f(int x[8], int y[4]) {
    int t[8];
#pragma scop
    for (int p = 0; p < 4; p++) {
        int s = x[p];
        for (int k = 0; k < 8; k++) {
            s = s * 3 + x[k];
            t[k] = s;
        }
        for (int k = 0; k < 8; k++)
            x[k] = t[k];
        y[p] = s;
    }
#pragma endscop
}"""


def test_a_way_back_through_another_nest_is_for_the_loop_around_both():
    program = parse_scop(PASSES, "f.c")
    dependences = flow(program)
    inner = {(d.source, d.sink) for d in in_nests(program, dependences)}
    assert {("S1", "S1"), ("S1", "S2")} <= inner and not {("S2", "S3"), ("S3", "S1"), ("S0", "S1")} & inner
    assert innermost_recurrences(program, dependences, ["S1"]) == {"S1"}
    assert innermost_recurrences(program, dependences, ["S3"]) == {"S0", "S1", "S2", "S3"}, "as no loop inside has it"
    assert not innermost_recurrences(program, dependences, ["S4"])
