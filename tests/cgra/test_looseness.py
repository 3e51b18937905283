"""What is tried: nothing that is known to be too fast, and not everything on the way to what is not."""

from __future__ import annotations

import pytest

from compiler.bind.cgra.looseness import Looseness, Ways
from compiler.bind.cgra.netlist import Edge, Pin
from compiler.bind.cgra.target import Options, schedule_of
from compiler.bind.cgra.timing import TimingLoop
from compiler.frontend.apps import load


def loop(excess: int, unit: str = "sum") -> TimingLoop:
    return TimingLoop((Edge(Pin(unit, "word0"), Pin(unit, "word1"), "word"),), excess)


def intervals(cycles: int, steps: int = 1, ways: Ways | None = None) -> list[int]:
    """The intervals that are tried for a loop of so many cycles, whose value is back after `steps` of them."""
    ways, tried = ways or Ways(merged=True, patient=True, wide=False), []
    for looseness in ways:
        if not tried or tried[-1] != looseness.interval:
            tried.append(looseness.interval)
        excess = cycles - steps * looseness.interval
        if excess <= 0:
            return tried
        ways.note(looseness, loop(excess))
    return [*tried, 0]


@pytest.mark.parametrize(("cycles", "steps", "tried"), [
    (1, 1, [1]), (2, 1, [1, 2]), (9, 1, [1, 2, 9]), (30, 1, [1, 2, 30]), (200, 1, [1, 2, 200]), (30, 4, [1, 2, 8]),
    (257, 1, [1, 2, 0]),
])
def test_two_intervals_tell_the_one_that_is_needed(cycles: int, steps: int, tried: list[int]) -> None:
    assert intervals(cycles, steps) == tried


def test_what_no_interval_helps_is_tried_at_all_of_them() -> None:
    ways = Ways(merged=True, patient=True, wide=True)
    tried = []
    for looseness in ways:
        tried.append(looseness)
        ways.note(looseness, loop(5))
    assert [one.interval for one in tried if not one.sparse] == [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]
    assert [one.interval for one in tried if one.sparse] == [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]


def test_a_wide_word_for_every_word_is_a_way_of_its_own() -> None:
    """A loop that is faster there does not wait for the interval that the other ways need."""
    ways = Ways(merged=True, patient=True, wide=True)
    for looseness in ways:
        excess = (4 if looseness.sparse else 9) - looseness.interval
        if excess <= 0:
            assert looseness == Looseness(4, 4, sparse=True)
            return
        ways.note(looseness, loop(excess))


def test_without_patience_or_wide_fetches() -> None:
    assert {one.interval for one in Ways(merged=True, patient=False, wide=True)} == {1}
    assert not any(one.wide for one in Ways(merged=True, patient=True, wide=False))
    assert not any(one.shared or one.rings for one in Ways(merged=False, patient=True, wide=True))


def test_statements_that_share_units_stay_alike() -> None:
    """Some of them see their own values soon, others do not: their sums keep one order."""
    program = load("sr_cnn", size=10, channels=4, features=2, unroll=2, shared=True)
    assert program.shared
    assert schedule_of(program, Options(array="8x16")).end < 2000
