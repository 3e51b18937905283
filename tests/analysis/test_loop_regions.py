"""Extremes of sums over triangles and simplices: those of their points, one by one."""

from __future__ import annotations

import islpy as isl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.analysis.loop_regions import least_in, loop_region, most_in
from compiler.analysis.port_nests import LoopSum
from compiler.ir.points import contains

REGIONS = ["0 <= i <= 6 and 0 <= j < i and 1 <= k <= 4", "0 <= i <= 6 and i <= j <= 6 and 1 <= k <= 3",
           "0 <= i <= 6 and 0 <= j <= i and 1 <= k <= j", "i = 2 and 0 <= j <= 6 and 1 <= k <= 5",
           "0 <= i <= 6 and 2i <= j <= 6 and 1 <= k <= i + 1", "0 <= i, j <= 6 and 6 - i <= k < j and 1 <= k <= 5",
           "0 <= i, j <= 6 and 1 <= k <= 5 and i <= k and j < k",
           "0 <= i, j <= 6 and j = 6 - i and 1 <= k < j and k <= 5",
           "0 <= i <= 6 and 0 <= j <= 6 and 1 <= k <= 5"]


@pytest.mark.parametrize("text", REGIONS)
@settings(max_examples=30, deadline=None)
@given(st.data())
def test_extremes_are_those_of_points(text, data):
    lows, trips = (0, 0, 1), (7, 7, 5)
    points = isl.Set(f"{{ S[i, j, k] : {text} }}")
    region = loop_region(points, lows, trips)
    assert region is not None
    kept = [np.array(sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1)))) for n in trips]
    tables = [np.array(data.draw(st.lists(st.integers(-9, 9), min_size=n, max_size=n))) for n in trips]
    function = LoopSum(data.draw(st.integers(-9, 9)), tuple(tables)).taken(kept)
    grid = np.meshgrid(*[part + low for part, low in zip(kept, lows, strict=True)], indexing="ij")
    columns = [axis.ravel() for axis in grid]
    values = function.values()[contains(points, columns, len(columns[0]))]
    meant = (int(values.min()), int(values.max())) if len(values) else (None, None)
    assert (region.taken(kept).least(function), region.taken(kept).most(function)) == meant


@pytest.mark.parametrize(("text", "free"), [
    ("0 <= i, j <= 6 and j = 6 - i and 1 <= k < j and k <= 5", None),
    ("0 <= i <= 6 and j = 3 and k = 5 - i and k >= 1", ()),
    ("2 <= i <= 6 and j = i - 2 and k = 5 - j", ()), ("2 <= i <= 6 and 0 <= j <= 6 and k = i - 1", ()),
    ("0 <= i <= 6 and i <= j <= i + 1 and j <= 6 and k = j and 1 <= k <= 5", (1,))])
@settings(max_examples=10, deadline=None)
@given(st.data())
def test_loops_that_run_once_are_left_out(text, free, data):
    """`free`: loops whose range still depends on another one; None: some."""
    lows, trips = (0, 0, 1), (7, 7, 5)
    points = isl.Set(f"{{ S[i, j, k] : {text} }}")
    region = loop_region(points, lows, trips)
    assert region is not None
    tables = [np.array(data.draw(st.lists(st.integers(-9, 9), min_size=n, max_size=n))) for n in trips]
    function = LoopSum(data.draw(st.integers(-9, 9)), tuple(tables))
    pinned = region.pinned()
    assert pinned is not None
    left, fold = pinned
    if free is not None:
        assert tuple(k for k, parent in enumerate(left.parents if left else ()) if parent is not None) == free
    assert min(fold(function).trips) == 1
    columns = [column + low for column, low in zip(np.indices(trips).reshape(3, -1), lows, strict=True)]
    meant = function.values()[contains(points, columns, len(columns[0]))]
    if left is None:
        assert sorted(fold(function).values()) == sorted(meant)
    assert (least_in(fold(function), left), most_in(fold(function), left)) == (meant.min(), meant.max())


@pytest.mark.parametrize("text", ["0 <= i, j, k <= 4 and i <= j <= k <= i + 1", "0 <= i, j, k <= 4 and i mod 2 = 0",
                                  "0 <= i, j, k <= 4 and (i = 1 or j = 2)", "0 <= i, j, k <= 4 and k < i + j"])
def test_other_sets_are_none(text):
    assert loop_region(isl.Set(f"{{ S[i, j, k] : {text} }}"), (0, 0, 0), (5, 5, 5)) is None


def test_iterations_are_found_by_the_values_of_an_ascending_function():
    function = LoopSum(5, (np.array([0, 40, 90]), np.array([0, 9, 14, 20]), np.array([0, 3])))
    values = function.values()
    wanted = np.arange(0, values[-1] + 9)
    known = {int(value): number for number, value in enumerate(values)}
    assert function.places(wanted).tolist() == [known.get(int(value), -1) for value in wanted]
