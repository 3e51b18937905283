"""Counting functions and steps against looking at every point."""

from __future__ import annotations

from itertools import product

import islpy as isl
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from compiler.analysis.counting import Term, UncountedError, count, extremes, greatest, joined, lex_count, values_of
from compiler.analysis.polynomial import Polynomial
from compiler.analysis.walks import Walk
from compiler.ir.points import enumerate_points

GRID = range(-1, 8)


@st.composite
def convex(draw: st.DrawFn, dims: int) -> isl.Set:
    """A box cut by up to two comparisons of its dimensions."""
    names = [f"x{k}" for k in range(dims)]
    rows = [f"0 <= {name} <= {draw(st.integers(0, 6))}" for name in names]
    for _ in range(draw(st.integers(0, 2)) if dims > 1 else 0):
        first, second = draw(st.permutations(names))[:2]
        rows.append(f"{first} {draw(st.sampled_from(['<=', '>=']))} {second} + {draw(st.integers(-3, 3))}")
    return isl.Set(f"{{ [{', '.join(names)}] : {' and '.join(rows)} }}")


@st.composite
def sets(draw: st.DrawFn, number: int = 1) -> list[isl.Set]:
    """So many sets of one space, each a union of one or two convex ones, none empty."""
    dims = draw(st.integers(1, 3))
    found = []
    for _ in range(number):
        some = draw(convex(dims))
        if draw(st.booleans()):
            some = some.union(draw(convex(dims)))
        assume(not some.is_empty())
        found.append(some)
    return found


def points(some: isl.Set) -> list[tuple[int, ...]]:
    _, columns = enumerate_points(some)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@settings(max_examples=60, deadline=None)
@given(sets(3))
def test_counts_and_extremes(some: list[isl.Set]) -> None:
    first, second, domain = some
    inside, others, here = points(first), points(second), points(domain)
    assert count(first) == len(inside)
    (below, total), (less, _) = lex_count(first), lex_count(second)
    assert total == len(inside)
    wanted = [sum(p < v for p in inside) - 2 * sum(p < v for p in others) for v in here]
    function = joined(below, [*less, *less])
    columns = list(np.array(here, np.int64).T)
    assert values_of(function, columns, len(here)).tolist() == wanted
    assert extremes(function, domain) == (min(wanted), greatest(function, domain)) == (min(wanted), max(wanted))


@settings(max_examples=80, deadline=None)
@given(sets(), st.integers(-12, 12))
def test_steps(some: list[isl.Set], steps: int) -> None:
    order = points(some[0])
    try:
        moved = Walk(some[0]).shift(steps)
    except UncountedError:
        assume(False)
        return
    dims = len(order[0])
    found: dict[tuple[int, ...], tuple[int, ...]] = {}

    def add(point: isl.Point) -> None:
        both = [point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(2 * dims)]
        found[tuple(both[:dims])] = tuple(both[dims:])

    moved.wrap().flatten().foreach_point(add)
    assert found == {p: order[k + steps] for k, p in enumerate(order) if 0 <= k + steps < len(order)}


@pytest.mark.parametrize("left_out", ["lexmin", "lexmax"])
@pytest.mark.parametrize("some", ["0 <= i <= 6 and 0 <= j < 4 and 2 <= k <= 5", "0 <= j <= i <= 6 and k = 0"])
def test_walks_without_an_end_are_of_no_higher_degree(some: str, left_out: str) -> None:
    whole = isl.Set(f"{{ [i, j, k] : {some} }}")
    walk = Walk(whole.subtract(getattr(whole, left_out)()))
    order = points(walk.points)
    assert walk.count == len(order)
    assert values_of(walk.below, list(np.array(order, np.int64).T), len(order)).tolist() == list(range(len(order)))


@pytest.mark.parametrize("steps", [-30, -3, 1, 7, 40])
def test_steps_around_a_frame(steps: int) -> None:
    inner = isl.Set("{ [i, j, k] : 0 <= i <= 1 and 1 <= j <= 3 and 1 <= k <= 4 }")
    frame = isl.Set("{ [i, j, k] : 0 <= i <= 1 and 0 <= j <= 4 and 0 <= k <= 5 }").subtract(inner)
    order = points(frame)
    moved = Walk(frame).shift(steps)
    for number, point in enumerate(order):
        image = isl.Set(f"{{ {list(point)} }}").apply(moved)
        wanted = order[number + steps : number + steps + 1] if number + steps >= 0 else []
        assert points(image) == wanted if wanted else image.is_empty()


def test_sums_of_powers() -> None:
    for exponent, high in product(range(5), range(-1, 6)):
        power = Polynomial.affine((1,)).power(exponent)
        summed = power.summed(0, Polynomial.constant(0), Polynomial.constant(high))
        assert summed.value(()) == sum(x**exponent for x in range(high + 1))


def test_many_points_take_no_longer() -> None:
    wedge = isl.Set("{ [i, j, k] : 0 <= i < 1000000 and 0 <= j <= i and 0 <= k < 4096 }")
    assert count(wedge) == 4096 * 1000000 * 1000001 // 2


@pytest.mark.parametrize("text, reason", [
    ("{ [i] : 0 <= i < 9 and i mod 2 = 0 }", "a set with strides"),
    ("{ [i, j] : 0 <= i < 9 and 0 <= 2 * j <= i }", "a bound with a coefficient"),
])
def test_what_is_not_counted_is_said(text: str, reason: str) -> None:
    with pytest.raises(UncountedError, match=reason):
        count(isl.Set(text))


@pytest.mark.parametrize("text", ["202 <= i and -396 + 2i <= j <= -2 + i", "0 <= i <= 99 and 2i <= j <= 2i + 1"])
@pytest.mark.parametrize("sign", [1, -1])
def test_thin_pieces_take_few_looks(text: str, sign: int) -> None:
    """All points are last ones in the dimension in which the square rises."""
    piece = isl.Set(f"{{ [i, j] : {text} }}")
    inside = [sign * (i * i - 2 * i + j) for i, j in points(piece)]
    value = Polynomial({(2,): sign, (1,): -2 * sign, (0, 1): sign})
    assert extremes([Term(isl.BasicSet("{ [i, j] }"), value)], piece) == (min(inside), max(inside))
