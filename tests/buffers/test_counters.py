"""Loops that are too long for one counter become two."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.bind.buffers import counters
from compiler.bind.buffers.counters import MAX_TRIPS, counted
from hw.memtile import Affine, AffineNest, AffineSpec, encode_nest
from hw.memtile.spec import ConfigurationError

SPEC = AffineSpec(address_widths=(24,))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(1, 7), min_size=1, max_size=3), st.integers(-5, 5), st.integers(1, 3))
def test_events_stay_what_they_are(trips: list[int], step: int, every: int) -> None:
    """With counters up to 3: what has a divisor that leaves no more than that is split, and nothing else is touched."""
    time = [every]
    for count in trips[:-1]:
        time.append(time[-1] * count + 1)
    address = Affine(tuple(step * t for t in range(1, len(trips) + 1)), 9)
    nest = AffineNest(tuple(trips), tuple(time), 4, (address,))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counters, "MAX_TRIPS", 3)
        if any(count in (5, 7) for count in trips):
            with pytest.raises(ConfigurationError):
                counted(nest)
            return
        split = counted(nest)
    assert list(split.events()) == list(nest.events())
    assert max(split.ranges) <= 3
    assert len(split.ranges) == max(1, sum(1 + (count > 3) for count in trips if count > 1))


@pytest.mark.parametrize(("trips", "ranges"), [
    ((MAX_TRIPS,), (MAX_TRIPS,)), ((70000,), (35000, 2)), ((1 << 24,), (MAX_TRIPS, 256)),
    ((3, 70000, 1), (3, 35000, 2)), ((257 * 263,), (263, 257)), ((1,), (1,)),
])
def test_the_inner_counter_takes_as_much_as_it_can(trips: tuple[int, ...], ranges: tuple[int, ...]) -> None:
    time = tuple(1 if level == 0 else trips[0] ** level for level in range(len(trips)))
    nest = counted(AffineNest(trips, time, 0, (Affine(time),)))
    assert nest.ranges == ranges
    assert encode_nest(nest, SPEC)


@pytest.mark.parametrize("trips", [MAX_TRIPS + 1, 2 * (MAX_TRIPS + 1)])
def test_lengths_without_divisors_are_refused(trips: int) -> None:
    message = (f"a loop of {trips} iterations is too long for one counter, which counts to 65536, and {trips} is no "
               "product of two numbers up to that")
    with pytest.raises(ConfigurationError, match=f"^{re.escape(message)}$"):
        counted(AffineNest((trips,), (1,), 0, ()))
