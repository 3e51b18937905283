"""What is tried: nothing that is known to be too fast, and not everything on the way to what is not."""

from __future__ import annotations

import pytest

from compiler.bind.cgra.netlist import Edge, Pin
from compiler.bind.cgra.relaxation import Relaxation, RelaxationSpace
from compiler.bind.cgra.target import Options, schedule_of
from compiler.bind.cgra.timing import RecurrenceViolation
from compiler.frontend.apps import load
from compiler.sched.static.schedule import InitiationIntervals

SUM, PRODUCT = frozenset({"sum"}), frozenset({"product"})


def loop(excess: int, unit: str = "sum") -> RecurrenceViolation:
    return RecurrenceViolation((Edge(Pin(unit, "word0"), Pin(unit, "word1"), "word"),), excess)


def intervals(cycles: int, steps: int = 1, ways: RelaxationSpace | None = None) -> list[int]:
    """The intervals that are tried for a loop of so many cycles, whose value is back after `steps` of them."""
    ways, tried = ways or RelaxationSpace(merged=True, patient=True, wide=False), []
    for relaxation in ways:
        interval = relaxation.pace.interval
        if not tried or tried[-1] != interval:
            tried.append(interval)
        excess = cycles - steps * interval
        if excess <= 0:
            return tried
        ways.note(relaxation, loop(excess), SUM)
    return [*tried, 0]


@pytest.mark.parametrize(("cycles", "steps", "tried"), [
    (1, 1, [1]), (2, 1, [1, 2]), (9, 1, [1, 2, 9]), (30, 1, [1, 2, 30]), (200, 1, [1, 2, 200]), (30, 4, [1, 2, 8]),
    (257, 1, [1, 2, 0]),
])
def test_two_intervals_tell_the_one_that_is_needed(cycles: int, steps: int, tried: list[int]) -> None:
    assert intervals(cycles, steps) == tried


@pytest.mark.parametrize(("wide", "tried"), [(False, [1, 2, 3, 4]), (True, [1, 2, 3, 4, 6, 8, 12, 16, 24, 32])])
def test_what_no_interval_helps_is_given_up(wide: bool, tried: list[int]) -> None:
    """Later on memories with wide fetches: their words come sooner again once each has a wide word of its own."""
    ways = RelaxationSpace(merged=True, patient=True, wide=wide)
    found: dict[tuple[int, bool], list[int]] = {}
    for relaxation in ways:
        found.setdefault((relaxation.alignment, relaxation.sparse), []).append(relaxation.pace.interval)
        ways.note(relaxation, loop(5), SUM)
    assert found == {(alignment, sparse): tried[sparse:] for sparse in {False, wide} for alignment in (1, 4)}


def test_only_slow_recurrences_have_the_interval() -> None:
    """Another one that turns out to be slow has it, too, and is tried at the same one."""
    ways, tried = RelaxationSpace(merged=True, patient=True, wide=False), []
    for relaxation in ways:
        tried.append((relaxation.alignment, relaxation.pace))
        pace = relaxation.pace
        if pace.slow is None or not pace.slow >= SUM:
            ways.note(relaxation, loop(9 - pace.interval), SUM)
        elif not pace.slow >= PRODUCT or relaxation.alignment > 1:
            ways.note(relaxation, loop(3, "product"), PRODUCT)
        else:
            break
    both = SUM | PRODUCT
    assert tried == [(1, InitiationIntervals(1)), (4, InitiationIntervals(1)), (1, InitiationIntervals(2, SUM)),
                     (4, InitiationIntervals(2, both)), (1, InitiationIntervals(2, both))]


def test_what_memories_cannot_follow_slows_the_rest_down() -> None:
    ways = RelaxationSpace(merged=True, patient=True, wide=False)
    paces: list[InitiationIntervals] = []
    for relaxation in ways:
        paces += [relaxation.pace] if relaxation.pace not in paces else []
        if relaxation.pace.interval < 6:
            ways.note(relaxation, loop(6 - relaxation.pace.interval), SUM)
        else:
            ways.note_memory()
        if relaxation.pace.interval > 8:
            break
    assert paces == [InitiationIntervals(1), InitiationIntervals(2, SUM),
                     *(InitiationIntervals(6, SUM, others) for others in (1, 2, 4, 6)), InitiationIntervals(8, SUM, 8),
                     InitiationIntervals(12, SUM, 12)]


def test_a_wide_word_for_every_word_is_a_way_of_its_own() -> None:
    """A loop that is faster there does not wait for the interval that the other ways need."""
    ways = RelaxationSpace(merged=True, patient=True, wide=True)
    for relaxation in ways:
        excess = (4 if relaxation.sparse else 9) - relaxation.pace.interval
        if excess <= 0:
            assert relaxation == Relaxation(1, InitiationIntervals(4, SUM), sparse=True)
            return
        ways.note(relaxation, loop(excess), SUM)


def test_without_patience_or_wide_fetches() -> None:
    assert {one.pace.interval for one in RelaxationSpace(merged=True, patient=False, wide=True)} == {1}
    assert not any(one.wide for one in RelaxationSpace(merged=True, patient=True, wide=False))
    assert not any(one.shared or one.rings for one in RelaxationSpace(merged=False, patient=True, wide=True))


def test_statements_that_share_units_stay_alike() -> None:
    """Some of them see their own values soon, others do not: their sums keep one order."""
    program = load("sr_cnn", size=10, channels=4, features=2, unroll=2, shared=True)
    assert program.shared
    assert schedule_of(program, Options(array="8x16")).end < 2000


def test_what_fails_after_placement_fails_in_all_kinds() -> None:
    """The loop needs 9 cycles in every kind, and one more for its wires: 9 is tried once, then 10."""
    ways, tried = RelaxationSpace(merged=True, patient=True, wide=True), []
    for relaxation in ways:
        interval = relaxation.pace.interval
        tried.append(interval)
        if interval > 9:
            break
        ways.note(relaxation, loop(1 if interval == 9 else 9 - interval), SUM)
    assert (tried.count(9), tried[-1]) == (1, 10)
