"""Ports that carry the same words: cycles from one to the other, and the nest of a port that serves all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from compiler.analysis.port_nests import LoopSum, PortNest, loop_sum

__all__ = ["common_shifts", "follows", "join_ports", "steps_of"]

_MOST_TIMES = 1 << 16
"""Cycles in which a port carries one word that are looked at."""


def steps_of(ports: Sequence[PortNest]) -> list[int] | None:
    """Cycles of a step of each loop, the same in all ports; None if they differ, if loops are uneven or not as
    many in all."""
    if len({len(port.times.trips) for port in ports}) > 1:
        return None
    steps = []
    for tables in zip(*(port.times.tables for port in ports), strict=True):
        found = {int(step) for table in tables for step in np.unique(np.diff(table))}
        if len(found) > 1:
            return None
        steps.append(found.pop() if found else 0)
    return steps


def common_shifts(one: PortNest, other: PortNest) -> list[int] | None:
    """By how many cycles `other` has the word of its middle event later than `one`, for all times that this one has it;
    None if that is not known."""
    if one.owners is None:
        return None
    middle = _iteration(other.times, other.count // 2)
    at = _value(other.times, middle)
    times = np.full(1, one.times.base, np.int64)
    for digit, wanted, loops in zip(one.digits, other.digits, one.owners, strict=True):
        part = LoopSum(digit.base, tuple(digit.tables[k] for k in loops)).values()
        cycles = LoopSum(0, tuple(one.times.tables[k] for k in loops)).values()
        times = (times[:, None] + cycles[part == _value(wanted, middle)]).ravel()
        if len(times) > _MOST_TIMES:
            return None
    for k in one.free:
        if len(times) * one.times.trips[k] > _MOST_TIMES:
            return None
        times = (times[:, None] + one.times.tables[k]).ravel()
    return sorted((int(at - time) for time in np.sort(times)), key=abs)


def follows(one: PortNest, other: PortNest, shift: int, steps: Sequence[int]) -> bool:
    """Whether `other` has the words of `one`, `shift` cycles later, in at least half of the cycles of the one with
    fewer, and no other word in any of these."""
    common = 0
    for moved in _moves(other.times.base - shift - one.times.base, steps, one.times.trips, other.times.trips):
        ranges = [range(max(0, -by), min(m, n - by))
                  for by, n, m in zip(moved, one.times.trips, other.times.trips, strict=True)]
        if not all(ranges):
            continue
        common += prod(map(len, ranges))
        theirs = [np.array(part) for part in ranges]
        mine = [part + by for part, by in zip(theirs, moved, strict=True)]
        if not all(a.taken(mine).same(b.taken(theirs)) for a, b in zip(one.digits, other.digits, strict=True)):
            return False
    return common * 2 >= min(one.count, other.count)


def _moves(cycles: int, steps: Sequence[int], one: Sequence[int], other: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Iterations of each loop that are `cycles` together."""
    if not steps:
        if cycles == 0:
            yield ()
        return
    reach = sum(step * (max(n, m) - 1) for step, n, m in zip(steps[1:], one[1:], other[1:], strict=True))
    if not steps[0]:
        yield from ((0, *rest) for rest in _moves(cycles, steps[1:], one[1:], other[1:]))
        return
    for by in range(-(-(cycles - reach) // steps[0]), (cycles + reach) // steps[0] + 1):
        if -other[0] < by < one[0]:
            yield from ((by, *rest) for rest in _moves(cycles - by * steps[0], steps[1:], one[1:], other[1:]))


def _value(function: LoopSum, point: Sequence[int]) -> int:
    return function.base + sum(int(table[place]) for table, place in zip(function.tables, point, strict=True))


def join_ports(ports: Sequence[PortNest]) -> PortNest | None:
    """The nest of a port that carries what all of them do; None if none is found."""
    left = list(ports)
    while len(left) > 1:
        found = next(((a, b, joined) for join in (_containing, _longer)
                      for a in range(len(left)) for b in range(a + 1, len(left))
                      if (joined := join(left[a], left[b])) is not None), None)
        if found is None:
            return None
        a, b, joined = found
        left = [joined, *left[:a], *left[a + 1 : b], *left[b + 1 :]]
    return left[0]


def _containing(one: PortNest, other: PortNest) -> PortNest | None:
    """The one of two ports that carries all that the other does."""
    return next((whole for whole, part in ((one, other), (other, one)) if _contains(whole, part)), None)


def _longer(one: PortNest, other: PortNest) -> PortNest | None:
    """Two ports that differ along one loop as one."""
    loops = range(len(one.times.trips))
    if len(loops) != len(other.times.trips):
        return None
    functions = [(one.times, other.times), *zip(one.digits, other.digits, strict=True)]
    differing = [k for k in loops if any(not np.array_equal(a.tables[k], b.tables[k]) for a, b in functions)]
    if len(differing) > 1:
        return None
    for loop in differing or reversed(loops):
        joined = _joined_along(one, other, loop)
        if joined is not None and joined.times.is_ascending:
            return joined
    return None


def _contains(whole: PortNest, part: PortNest) -> bool:
    """Whether `whole` carries all that `part` does, in the same cycles: from some iteration on, each loop of `part`
    goes along one of its own."""
    first = _iteration_in(whole.times, part.times.base)
    if first is None or any(_value(a, first) != b.base for a, b in zip(whole.digits, part.digits, strict=True)):
        return False
    free = list(range(len(first)))
    for loop, trips in enumerate(part.times.trips):
        if trips > 1:
            along = next((k for k in free if _goes_along(whole, k, first[k], part, loop)), None)
            if along is None:
                return False
            free.remove(along)
    return True


def _iteration_in(times: LoopSum, cycle: int) -> tuple[int, ...] | None:
    """The iteration of ascending `times` in a cycle, None if there is none."""
    number = int(times.places(np.asarray(cycle)))
    return None if number < 0 else _iteration(times, number)


def _iteration(function: LoopSum, number: int) -> tuple[int, ...]:
    """The place in each loop of an iteration, of which the innermost loop's are numbered first."""
    return tuple(map(int, np.unravel_index(number, function.trips))) if function.trips else ()


def _goes_along(whole: PortNest, loop: int, start: int, part: PortNest, inner: int) -> bool:
    """Whether loop number `loop` of `whole` goes on from iteration `start` as loop `inner` of `part` does."""
    for a, b in ((whole.times, part.times), *zip(whole.digits, part.digits, strict=True)):
        run = a.tables[loop][start : start + len(b.tables[inner])]
        if not np.array_equal(run - run[0], b.tables[inner]):
            return False
    return True


def _joined_along(one: PortNest, other: PortNest, loop: int) -> PortNest | None:
    columns = np.stack([np.concatenate([a.tables[loop], b.tables[loop] + b.base - a.base])
                        for a, b in [(one.times, other.times), *zip(one.digits, other.digits, strict=True)]])
    columns = np.unique(columns, axis=1)
    if (np.diff(columns[0]) == 0).any():
        return None
    found = [loop_sum(f.base, [*f.tables[:loop], column, *f.tables[loop + 1 :]])
             for f, column in zip([one.times, *one.digits], columns, strict=True)]
    return PortNest(found[0], tuple(found[1:]), one.shape)
