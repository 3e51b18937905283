"""Ports that carry what several others do: the same events as those of all of them, listed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.analysis.port_nests import LoopSum, PortNest
from compiler.analysis.port_unions import join_ports


@st.composite
def ports(draw) -> PortNest:
    """A port whose loops come one inside the other, in some order of the dimensions of what it reads."""
    trips = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    tables, span = [], 0
    for count in reversed(trips):
        step = span + draw(st.sampled_from([1, 1, 2, 5]))
        tables.insert(0, np.arange(count) * step)
        span += step * (count - 1)
    shape = (40, 40)
    digits = [LoopSum(draw(st.integers(0, 3)), tuple(np.arange(n) * draw(st.sampled_from([0, 0, 1, 2])) for n in trips))
              for _ in shape]
    return PortNest(LoopSum(draw(st.integers(3, 20)), tuple(tables)), tuple(digits), shape)


@st.composite
def parts(draw, whole: PortNest) -> PortNest:
    """Some iterations of each loop, without a loop that has one left, or with one more."""
    ranges = []
    for trips in whole.times.trips:
        first = draw(st.integers(0, trips - 1))
        ranges.append((first, draw(st.integers(first + 1, trips))))
    kept = [k for k, (first, end) in enumerate(ranges) if end - first > 1 or draw(st.booleans())]
    more = draw(st.booleans())

    def part(function: LoopSum) -> LoopSum:
        first = [int(table[start]) for table, (start, _) in zip(function.tables, ranges, strict=True)]
        tables = [function.tables[k][slice(*ranges[k])] - first[k] for k in kept]
        return LoopSum(function.base + sum(first), (*tables, *([np.zeros(1, np.int64)] if more else [])))

    return PortNest(part(whole.times), tuple(map(part, whole.digits)), whole.shape)


def events(*nests: PortNest) -> set[tuple[int, int]]:
    """Cycles and words."""
    return {event for nest in nests
            for event in zip(nest.times.values().tolist(), nest.numbers.values().tolist(), strict=True)}


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_port_serves_those_that_carry_a_part_of_what_it_does(data):
    whole = data.draw(ports())
    some = data.draw(st.lists(parts(whole), min_size=1, max_size=3))
    order = data.draw(st.permutations([whole, *some]))
    joined = join_ports(order)
    assert joined is not None
    assert events(joined) == events(whole)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_what_is_joined_carries_the_events_of_all_and_no_others(data):
    one = data.draw(ports())
    other = data.draw(parts(one))
    moved = data.draw(st.sampled_from([other, other.later(1), other.later(one.times.last), data.draw(ports())]))
    if len(moved.digits) == len(one.digits):
        joined = join_ports([one, moved])
        assert joined is None or events(joined) == events(one, moved)


@pytest.mark.parametrize("change", ["word", "step", "cycle"])
def test_a_port_with_another_word_or_cycle_is_not_inside(change):
    tables = (np.arange(4) * 8, np.arange(5))
    whole = PortNest(LoopSum(3, tables), (LoopSum(0, (np.arange(4), np.zeros(5, np.int64))),), (9,))
    times, digit = LoopSum(11, (np.arange(2) * 8, np.arange(3))), LoopSum(1, (np.arange(2), np.zeros(3, np.int64)))
    assert join_ports([whole, PortNest(times, (digit,), (9,))]) is whole
    if change == "word":
        digit = replace(digit, base=2)
    elif change == "step":
        times = replace(times, tables=(times.tables[0], np.arange(3) * 2))
    else:
        times = replace(times, base=16)
    assert join_ports([whole, PortNest(times, (digit,), (9,))]) is None
