"""Places of statements in loops of others: the search against all places, and programs whose places were too many."""

from __future__ import annotations

import time
from itertools import product

import islpy as isl
import pytest

import compiler
from compiler.analysis.dependences import flow
from compiler.frontend.c_scop import parse_scop
from compiler.ir.program import Program
from compiler.sched.space_time import SpaceTimeError
from compiler.sched.space_time.places import PlaceSearch, Values, make_place, place_choices

SUM = """void f(const short a[5][7], int out[5], int twice[5]) {
#pragma scop
    for (int i = 0; i < 5; i++) out[i] = i;
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 7; j++) out[i] += a[i][j];
    for (int i = 0; i < 5; i++) twice[i] = out[i] + out[i];
#pragma endscop
}
"""
BOUNDS = {"i": (0, 4), "j": (0, 6)}


def search(program: Program, name: str) -> tuple[PlaceSearch, isl.Map]:
    """The search for the place of a statement beside the accumulation, with the place of that."""
    inner = max(program.statements, key=lambda s: len(s.iterators))
    fixed = make_place(inner, inner.iterators)
    values = [Values(d.relation, fixed if d.sink == inner.name else None, fixed if d.source == inner.name else None)
              for d in flow(program) if {d.sink, d.source} == {inner.name, name}]
    return PlaceSearch(program.statement(name), ("i", "j"), values, [(0, 4), (0, 6)]), fixed


@pytest.mark.parametrize("name", ["S0", "S2"])
@pytest.mark.parametrize("by_name", [True, False])
def test_offers_are_all_places_in_order(name: str, by_name: bool) -> None:
    """Without `forward`, every place is offered once; boxes and then distances never shrink."""
    program = parse_scop(SUM)
    finder, fixed = search(program, name)
    statement = program.statement(name)
    choices = place_choices(statement, ("i", "j"), BOUNDS, by_name=by_name)
    offers = list(finder.offers(choices, forward=False))
    wanted = {str(make_place(statement, values)) for choice in choices for values in product(*choice)}
    assert {str(o.place) for o in offers} == wanted
    assert [(o.volume, o.distance, o.number) for o in offers] == sorted((o.volume, o.distance, o.number)
                                                                        for o in offers)
    for offer in offers:
        box = fixed.range().union(offer.place.range())
        sides = [box.dim_max_val(k).to_python() - box.dim_min_val(k).to_python() + 1 for k in range(2)]
        assert offer.volume == sides[0] * sides[1]


@pytest.mark.parametrize("name", ["S0", "S2"])
def test_places_that_are_left_out_run_backwards(name: str) -> None:
    program = parse_scop(SUM)
    finder, _ = search(program, name)
    choices = place_choices(program.statement(name), ("i", "j"), BOUNDS)
    forward = {o.number for o in finder.offers(choices)}
    zero = isl.Set("{ [0, 0] }")
    left = 0
    for offer in finder.offers(choices, forward=False):
        if offer.number not in forward:
            left += 1
            assert any(_distances(v, offer.place).lex_gt_set(zero).is_empty() for v in finder.values)
    assert left


def _distances(values: Values, place: isl.Map) -> isl.Set:
    sink, source = (place if p is None else p for p in (values.sink, values.source))
    return values.relation.apply_domain(sink).apply_range(source).reverse().deltas()


@pytest.mark.parametrize("name", ["S0", "S2"])
def test_the_first_uniform_place_is_the_shortest_of_all(name: str) -> None:
    program = parse_scop(SUM)
    finder, _ = search(program, name)
    choices = place_choices(program.statement(name), ("i", "j"), BOUNDS)
    finder.box = None
    found = next(finder.offers(choices, uneven=1 << 40, once=True))
    costs = []
    for offer in PlaceSearch(finder.statement, finder.loops, finder.values).offers(choices, forward=False):
        deltas = [_distances(v, offer.place) for v in finder.values]
        if all(d.is_singleton() and d.lex_lt_set(isl.Set("{ [0, 0] }")).is_empty() for d in deltas):
            costs.append(sum(abs(d.dim_min_val(k).to_python()) for d in deltas for k in range(2)))
    assert found.distance == min(costs)


SPLIT = """void conv(const short w[4][2][2][2], const short in[4][4][2], int out[3][3][4]) {
#pragma scop
    for (int y = 0; y < 3; y++)
        for (int x = 0; x < 3; x++)
            for (int k = 0; k < 4; k++)
                out[y][x][k] = 0;
    for (int y = 0; y < 3; y++)
        for (int x = 0; x < 3; x++)
            for (int r = 0; r < 2; r++)
                for (int s = 0; s < 2; s++)
                    for (int c = 0; c < 2; c++)
                        for (int outer = 0; outer < 2; outer++)
                            for (int inner = 0; inner < 2; inner++)
                                out[y][x][2 * outer + inner] += w[2 * outer + inner][r][s][c] * in[y + r][x + s][c];
#pragma endscop
}
"""
BESIDE = """void conv(const short w[2][2][2][2], const short in[4][4][2], const short a[9], int out[3][3][2],
          short b[9]) {
#pragma scop
    for (int i = 0; i < 9; i++)
        b[i] = a[i] + 3;
    for (int y = 0; y < 3; y++)
        for (int x = 0; x < 3; x++)
            for (int k = 0; k < 2; k++) {
                out[y][x][k] = 0;
                for (int r = 0; r < 2; r++)
                    for (int s = 0; s < 2; s++)
                        for (int c = 0; c < 2; c++)
                            out[y][x][k] += w[k][r][s][c] * in[y + r][x + s][c];
            }
#pragma endscop
}
"""
_SECONDS = 20
"""Of processor time: ten times what these programs take, a fifth of what a look at all places takes."""


def test_a_split_loop_has_its_place_in_seconds() -> None:
    """The initialisation has no loop of the names that the update splits into: 35 times 13^4 places."""
    start = time.process_time()
    assert compiler.compile(parse_scop(SPLIT), target="systolic").predicted_cycles > 0
    assert time.process_time() - start < _SECONDS


def test_a_loop_beside_a_convolution_is_refused_in_seconds() -> None:
    start = time.process_time()
    with pytest.raises(SpaceTimeError, match=r"statement 'S2' \(scop.c:13\): .*; and it is no reduction kernel: "
                       r"program 'scop' has several outputs \('out', 'b'\); a reduction kernel has one: legal is a "
                       "program for each"):
        compiler.compile(parse_scop(BESIDE), target="systolic")
    assert time.process_time() - start < _SECONDS
