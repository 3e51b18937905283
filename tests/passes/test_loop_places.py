"""Where statements stand in the loop tree."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import islpy as isl

from compiler.frontend.c_scop import parse_scop
from compiler.passes.directives.place import order_of_places, places

ENDING = """void f(const int x[8], int y[8]) {
    int a, b = 0;
#pragma scop
    a = x[0];
#pragma sluice max_trips(5)
    while (a > 1) { if (a == 7) break; a -= 3; b += a; }
    for (int k = 0; k < 8; k++) y[k] = b + k;
#pragma endscop
}"""


def test_a_statement_of_one_iteration_is_in_the_loop():
    """What finds out that a loop makes too many trips is in its last iteration, whose time is no padding."""
    given = parse_scop(ENDING, "f.c")
    domains = [isl.UnionSet.from_set(statement.domain) for statement in given.statements]
    program = replace(given, order=given.order.intersect_domain(reduce(isl.UnionSet.union, domains)))
    where = places(program)
    loop = [s for s in program.statements if s.iterators == ("trip",)]
    ends = [s for s in loop if s.domain.is_singleton()]
    assert ends and len({where[s.name].positions[0] for s in loop}) == 1
    for statement in ends:
        [trip] = where[statement.name].loops
        assert trip.is_cst() and trip.get_constant_val().to_python() == 5
        assert order_of_places((statement,), where).intersect_domain(statement.domain).is_equal(
            isl.UnionMap.from_map(program.order_of(statement.name)))
