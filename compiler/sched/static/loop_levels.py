"""Loops of all statements joined into common levels (Liu 2023, section 4.4.1): which loops step together, and how
many cycles a step of each level takes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from itertools import pairwise
from math import gcd, lcm
from typing import NamedTuple

from compiler.analysis.dependences import constant_bounds
from compiler.sched.static.nests import Nests
from compiler.sched.static.schedule import InitiationIntervals, Loop, StatementSchedule

__all__ = ["Joins", "Levels"]


class Joins(NamedTuple):
    """Of every loop its level and its rate there, and of every level the steps of its busiest loop."""

    level: dict[Loop, int]
    rate: dict[Loop, Fraction]
    steps: dict[int, int]


class Levels:
    """Loops joined into levels, each loop with a rate; joins that would contradict a nest's order are refused."""

    def __init__(self, nests: Nests, slow: frozenset[str] = frozenset()) -> None:
        """Every loop a level of its own. Loops around the statements in `slow` have the initiation interval of a pace,
        if not all have."""
        self.nests = nests
        self.slow = slow
        self.level = {loop: number for number, loop in enumerate(nests.trips)}
        self.rate = dict.fromkeys(nests.trips, Fraction(1))
        self._steps = dict(enumerate(nests.trips.values()))
        self._nested = [pair for name, loops in nests.loops.items() for pair in pairwise((name, n) for n in loops)]

    def snapshot(self) -> Joins:
        """What `restore` takes back."""
        return Joins(dict(self.level), dict(self.rate), dict(self._steps))

    def restore(self, before: Joins) -> None:
        """Undo all joins since a snapshot."""
        self.level, self.rate, self._steps = dict(before.level), dict(before.rate), dict(before.steps)

    def longest(self, pace: InitiationIntervals) -> int:
        """Cycles that the slowest nest takes if the loops stay joined as they are."""
        weights = self.weights(1, pace)
        taken = dict.fromkeys(self.nests.loops, 1)
        for loop, trips in self.nests.trips.items():
            taken[loop[0]] += int(self.rate[loop]) * weights[self.level[loop]] * (trips - 1)
        return max(taken.values(), default=1)

    def entries(self, weights: Mapping[int, int]) -> dict[str, StatementSchedule]:
        """When the instances of each statement execute if all begin in cycle 0 and the steps of levels take so long."""
        found = {}
        for name, loops in self.nests.loops.items():
            box = constant_bounds(self.nests.statements[name])
            strides = {n: int(self.rate[name, n]) * weights[self.level[name, n]] for n in loops}
            trips = {n: self.nests.trips[name, n] for n in loops}
            found[name] = StatementSchedule(name, strides, {n: box[n][0] for n in loops}, trips, 0)
        return found

    @property
    def joined(self) -> dict[Loop, tuple[int, int]]:
        """Of every loop the number of its level and its rate there."""
        return {loop: (level, int(self.rate[loop])) for loop, level in self.level.items()}

    def _members(self, level: int) -> list[Loop]:
        return [loop for loop, have in self.level.items() if have == level]

    def _inside(self) -> dict[int, set[int]]:
        """Which levels lie directly inside of each."""
        found: dict[int, set[int]] = {level: set() for level in self.level.values()}
        for outer, inner in self._nested:
            found[self.level[outer]].add(self.level[inner])
        return found

    def join(self, producer: Loop, consumer: Loop, slope: Fraction) -> bool:
        """Put `consumer` into `producer`'s level at `slope` times its rate, if that contradicts nothing. The rates of
        a level are the smallest whole numbers."""
        keep, gone = self.level[producer], self.level[consumer]
        if keep == gone:
            return self.rate[consumer] == slope * self.rate[producer]
        moved = self._members(gone)
        statements = [s for s, _ in self._members(keep) + moved]
        if len(set(statements)) != len(statements):
            return False
        before = self.snapshot()
        factor = slope * self.rate[producer] / self.rate[consumer]
        for loop in moved:
            self.level[loop], self.rate[loop] = keep, self.rate[loop] * factor
        inside = self._inside()
        if keep in _reached(inside, inside[keep]):
            self.restore(before)
            return False
        self._make_rates_whole(keep)
        return True

    def _make_rates_whole(self, level: int) -> None:
        """Scale a level so that its rates are the smallest whole numbers."""
        rates = {loop: self.rate[loop] for loop in self._members(level)}
        scale = lcm(*(rate.denominator for rate in rates.values()))
        whole = {loop: rate.numerator * (scale // rate.denominator) for loop, rate in rates.items()}
        common = gcd(*whole.values())
        if scale != common:
            self.rate |= {loop: Fraction(rate, common) for loop, rate in whole.items()}
        self._steps[level] = max(rate // common * self.nests.trips[loop] for loop, rate in whole.items())

    def _slow_levels(self, inside: Mapping[int, set[int]]) -> set[int]:
        """The innermost levels of the nests of slow statements, and all that lie inside these."""
        loops = self.nests.loops
        return _reached(inside, {self.level[name, loops[name][-1]] for name in self.slow if loops[name]})

    def weights(self, alignment: int, pace: InitiationIntervals) -> dict[int, int]:
        """Cycles between two steps of each level: the length of the longest level directly inside it, or its initiation
        interval; idle ones come after that."""
        inside = self._inside()
        slow, idle = self._slow_levels(inside), self._idle(alignment, pace)
        weight: dict[int, int] = {}
        for level in _innermost_first(inside):
            own = pace.interval if level in slow or pace.slow is None else pace.elsewhere
            longest = max([weight[k] * self.length(k, alignment) for k in inside[level]], default=own)
            weight[level] = longest + idle.get(level, 0)
        return weight

    def _idle(self, alignment: int, pace: InitiationIntervals) -> dict[int, int]:
        """Idle cycles in every step of levels, whole multiples of `alignment`."""
        found: dict[int, int] = {}
        for loop, cycles in pace.idle:
            level = self.level[loop]
            found[level] = max(found.get(level, 0), -(-cycles // alignment) * alignment)
        return found

    def length(self, level: int, alignment: int) -> int:
        """Steps of a level: those of its busiest loop, rounded up to a multiple of `alignment`."""
        return -(-self._steps[level] // alignment) * alignment


def _reached(inside: Mapping[int, set[int]], first: Collection[int]) -> set[int]:
    """The levels in `first` and all that lie inside of these."""
    found, pending = set(first), list(first)
    while pending:
        new = inside[pending.pop()] - found
        found |= new
        pending += new
    return found


def _innermost_first(inside: Mapping[int, set[int]]) -> list[int]:
    """The levels, each behind those inside of it."""
    found: dict[int, None] = {}
    pending = list(inside)
    while pending:
        missing = [level for level in inside[pending[-1]] if level not in found]
        if missing:
            pending += missing
        else:
            found[pending.pop()] = None
    return list(found)
