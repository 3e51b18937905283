"""Recovering loop nests from sequences of events."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.bind.buffers.nest_fit import FittedNest, fit_nest


def events(ranges: tuple[int, ...], strides: tuple[int, ...], offset: int) -> np.ndarray:
    """Values of an affine function over a nest, innermost loop first."""
    total = np.array([offset])
    for count, stride in zip(ranges, strides, strict=True):
        total = (np.arange(count)[:, None] * stride + total).ravel()
    return total


def enumerated(nest: FittedNest) -> list[list[int]]:
    return [events(nest.ranges, strides, offset).tolist()
            for strides, offset in zip(nest.strides, nest.offsets, strict=True)]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_the_events_of_a_nest_are_fitted_by_a_nest_that_is_no_deeper(data: st.DataObject) -> None:
    depth = data.draw(st.integers(1, 4))
    ranges = tuple(data.draw(st.lists(st.integers(1, 5), min_size=depth, max_size=depth)))
    columns = []
    for _ in range(data.draw(st.integers(1, 3))):
        strides = data.draw(st.lists(st.integers(-9, 9), min_size=depth, max_size=depth))
        columns.append(events(ranges, tuple(strides), data.draw(st.integers(-99, 99))))
    nest = fit_nest(columns, depth)
    assert nest is not None
    assert len(nest.ranges) <= depth
    assert enumerated(nest) == [column.tolist() for column in columns]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.integers(-3, 3), min_size=2, max_size=2), min_size=1, max_size=12), st.integers(1, 6))
def test_whatever_is_fitted_is_exact(rows: list[list[int]], dims: int) -> None:
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    nest = fit_nest(columns, dims)
    if nest is not None:
        assert enumerated(nest) == [column.tolist() for column in columns]
        assert len(nest.ranges) <= dims


@pytest.mark.parametrize(("sequence", "dims"), [
    ([0, 1, 3], 6),
    ([0, 1, 2, 4], 6),
    ([0, 1, 4, 5, 16, 17, 20, 22], 6),
    ([0, 1, 4, 5, 16, 17, 20, 21], 2),
    ([0, 1], 0),
])
def test_sequences_without_a_nest(sequence: list[int], dims: int) -> None:
    assert fit_nest([np.array(sequence)], dims) is None


def test_one_event_is_a_nest_of_one_iteration() -> None:
    assert fit_nest([np.array([7]), np.array([-2])], 0) == FittedNest((1,), ((0,), (0,)), (7, -2))


def test_loops_that_continue_each_other_become_one() -> None:
    values = events((3, 2, 2), (1, 3, 20), 0)
    nest = fit_nest([values], 3)
    assert nest is not None
    assert enumerated(nest) == [values.tolist()]
    assert nest.ranges == (6, 2)
