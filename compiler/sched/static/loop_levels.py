"""Loops of all statements joined into common levels (Liu 2023, section 4.4.1): which loops step together, and how
many cycles a step of each level takes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from graphlib import TopologicalSorter
from itertools import pairwise
from math import gcd, lcm

from compiler.analysis.affine import pieces, slopes
from compiler.analysis.common_loops import innermost_recurrences
from compiler.analysis.dependences import Dependence, constant_bounds
from compiler.ir.program import Program, Statement
from compiler.sched.static.schedule import InitiationIntervals, Loop, StatementSchedule, loop_trips
from compiler.sched.streams.streams import StagedProgram

__all__ = ["Levels", "align_loops", "slow_statements", "stride_entries"]


_HALO = 1.25
"""Loops may be shared if nothing takes more than so many times longer: the border of an image, but not a loop over
blocks at the rate of one over what is in them."""


class Levels:
    """Loops joined into levels, each loop with a rate; joins that would contradict a nest's order are refused."""

    def __init__(self, nests: Mapping[str, tuple[str, ...]], slow: frozenset[str] = frozenset()) -> None:
        """Every loop a level of its own. Loops around the statements in `slow` have the initiation interval of a pace,
        if not all have."""
        self.nests = nests
        self.slow = slow
        self.level: dict[Loop, int] = {}
        self.rate: dict[Loop, Fraction] = {}
        for statement, iterators in nests.items():
            for iterator in iterators:
                self.level[statement, iterator] = len(self.level)
                self.rate[statement, iterator] = Fraction(1)

    def snapshot(self) -> tuple[dict[Loop, int], dict[Loop, Fraction]]:
        """What `restore` takes back."""
        return dict(self.level), dict(self.rate)

    def restore(self, before: tuple[dict[Loop, int], dict[Loop, Fraction]]) -> None:
        """Undo all joins since a snapshot."""
        self.level, self.rate = dict(before[0]), dict(before[1])

    def longest(self, trips: Mapping[Loop, int], pace: InitiationIntervals) -> int:
        """Cycles that the slowest nest takes if the loops stay joined as they are."""
        weights = self.weights(trips, 1, pace)
        return max((1 + sum(int(self.rate[s, n]) * weights[self.level[s, n]] * (trips[s, n] - 1) for n in nest)
                    for s, nest in self.nests.items()), default=1)

    def members(self, level: int) -> list[Loop]:
        return [loop for loop, have in self.level.items() if have == level]

    @property
    def joined(self) -> dict[Loop, tuple[int, int]]:
        """Of every loop the number of its level and its rate there."""
        return {loop: (level, int(self.rate[loop])) for loop, level in self.level.items()}

    def by_level(self) -> dict[int, list[Loop]]:
        """The loops of every level."""
        found: dict[int, list[Loop]] = {}
        for loop, level in self.level.items():
            found.setdefault(level, []).append(loop)
        return found

    def inside(self) -> dict[int, set[int]]:
        """Which levels lie directly inside of each."""
        found: dict[int, set[int]] = {level: set() for level in self.level.values()}
        for statement, iterators in self.nests.items():
            for outer, inner in pairwise(self.level[statement, i] for i in iterators):
                found[outer].add(inner)
        return found

    def join(self, producer: Loop, consumer: Loop, slope: Fraction) -> bool:
        """Put `consumer` into `producer`'s level at `slope` times its rate, if that contradicts nothing. The rates of
        a level are the smallest whole numbers."""
        keep, gone = self.level[producer], self.level[consumer]
        if keep == gone:
            return self.rate[consumer] == slope * self.rate[producer]
        statements = [s for s, _ in self.members(keep) + self.members(gone)]
        if len(set(statements)) != len(statements):
            return False
        before = self.snapshot()
        factor = slope * self.rate[producer] / self.rate[consumer]
        for loop in self.members(gone):
            self.level[loop], self.rate[loop] = keep, self.rate[loop] * factor
        inside = self.inside()
        if keep not in _reached(inside, inside[keep]):
            self._make_rates_whole(keep)
            return True
        self.restore(before)
        return False

    def _make_rates_whole(self, level: int) -> None:
        """Scale a level so that its rates are the smallest whole numbers."""
        loops = self.members(level)
        scale = lcm(*(self.rate[loop].denominator for loop in loops))
        common = gcd(*(int(self.rate[loop] * scale) for loop in loops))
        for loop in loops:
            self.rate[loop] = self.rate[loop] * scale / common

    def _slow_levels(self, inside: Mapping[int, set[int]]) -> set[int]:
        """The innermost levels of the nests of slow statements, and all that lie inside these."""
        return _reached(inside, {self.level[name, self.nests[name][-1]] for name in self.slow if self.nests[name]})

    def weights(self, trips: Mapping[Loop, int], alignment: int, pace: InitiationIntervals) -> dict[int, int]:
        """Cycles between two steps of each level: the length of the longest level directly inside it, or its initiation
        interval; idle ones come after that."""
        inside = self.inside()
        slow, members = self._slow_levels(inside), self.by_level()
        idle = self._idle(alignment, pace)
        weight: dict[int, int] = {}
        steps: dict[int, int] = {}
        for level in TopologicalSorter(inside).static_order():
            own = pace.interval if level in slow or pace.slow is None else pace.elsewhere
            weight[level] = max((weight[k] * steps[k] for k in inside[level]), default=own) + idle.get(level, 0)
            steps[level] = self._steps(members[level], trips, alignment)
        return weight

    def _idle(self, alignment: int, pace: InitiationIntervals) -> dict[int, int]:
        """Idle cycles in every step of levels, whole multiples of `alignment`."""
        found: dict[int, int] = {}
        for loop, cycles in pace.idle:
            level = self.level[loop]
            found[level] = max(found.get(level, 0), -(-cycles // alignment) * alignment)
        return found

    def length(self, level: int, trips: Mapping[Loop, int], alignment: int) -> int:
        """Steps of a level: those of its busiest loop, rounded up to a multiple of `alignment`."""
        return self._steps(self.members(level), trips, alignment)

    def _steps(self, loops: list[Loop], trips: Mapping[Loop, int], alignment: int) -> int:
        busiest = max(int(self.rate[loop]) * trips[loop] for loop in loops)
        return -(-busiest // alignment) * alignment


def _reached(inside: Mapping[int, set[int]], first: Collection[int]) -> set[int]:
    """The levels in `first` and all that lie inside of these."""
    found, pending = set(first), list(first)
    while pending:
        new = inside[pending.pop()] - found
        found |= new
        pending += new
    return found


def align_loops(staged: StagedProgram, levels: Levels, order: list[str], dependences: Sequence[Dependence],
           trips: Mapping[Loop, int], written: Sequence[tuple[Loop, Loop]], pace: InitiationIntervals) -> Levels:
    """Join the loops of producers and consumers, but not where a consumer that walks the same values again and again
    (it has a loop of its own around theirs) would then wait for a longer loop of the producer each time. Those that are
    `written` as one are so first."""
    for one, other in written:
        if one in trips and other in trips:
            levels.join(one, other, Fraction(1))
    position = {name: k for k, name in enumerate(order)}
    refused: set[tuple[tuple[Loop, Loop, Fraction], ...]] = set()
    longest = levels.longest(trips, pace)
    for dependence in sorted(dependences, key=lambda d: position[d.sink]):
        matches = _matches(staged, dependence)
        if tuple(matches) in refused:
            continue
        joined = _join(levels, matches, trips, pace, longest)
        if joined is None:
            refused.add(tuple(matches))
        else:
            longest = joined
    return levels


def _join(levels: Levels, matches: list[tuple[Loop, Loop, Fraction]], trips: Mapping[Loop, int],
          pace: InitiationIntervals, longest: int) -> int | None:
    """Join as many pairs of loops, from the outermost inwards, as slow nobody down: where a consumer walks a block of
    values several times, they share the loop over blocks, and the next block comes while this one is in use.

    The cycles that the slowest nest then takes, which were the `longest` before; None if all pairs would slow somebody
    down.
    """
    before = levels.snapshot()
    for count in range(len(matches), 0, -1):
        for producer, consumer, slope in matches[:count]:
            levels.join(producer, consumer, slope)
        if levels.level == before[0]:
            return longest
        after = levels.longest(trips, pace)
        if after <= longest * (1 if _walks_again(levels.nests, matches) else _HALO):
            return after
        levels.restore(before)
    return None if matches else longest


def _walks_again(nests: Mapping[str, tuple[str, ...]], matches: list[tuple[Loop, Loop, Fraction]]) -> bool:
    """Whether a statement has a loop of its own around the loops that it shares, on either side of a dependence."""
    for side in (0, 1):
        loops = [(producer, consumer)[side] for producer, consumer, _ in matches]
        shared = [name for _, name in loops]
        nest = nests[loops[0][0]]
        if any(name not in shared for name in nest[: max(map(nest.index, shared))]):
            return True
    return False


def _matches(staged: StagedProgram, dependence: Dependence) -> list[tuple[Loop, Loop, Fraction]]:
    """For producer loops the consumer loop that walks it over the longest range, with its slope.

    Only as far inwards as both nests have the loops in the same order (algorithm 2): where a consumer walks rows of
    columns, neither is fused, or a step of its inner loop would take as long as a row of the producer.
    """
    sink = staged.program.statement(dependence.sink)
    source = staged.program.statement(dependence.source)
    parts = pieces(dependence.relation)
    depth = staged.tile_depth
    found = []
    trips = loop_trips(sink)
    for position, iterator in list(enumerate(source.iterators))[depth:]:
        steps = slopes(parts[0][1].get_aff(position))
        walkers = [(step * trips[n], step, n) for n, step in zip(sink.iterators, steps, strict=True)
                   if n in sink.iterators[depth:] and step > 0]
        if walkers:
            _, step, name = max(walkers)
            found.append(((source.name, iterator), (sink.name, name), step))
    place = [sink.iterators.index(consumer[1]) for _, consumer, _ in found]
    ordered = [all(place[k] < later for later in place[k + 1:]) for k in range(len(place))]
    return found[: ordered.index(False)] if False in ordered else found


def slow_statements(program: Program, dependences: Sequence[Dependence], pace: InitiationIntervals) -> frozenset[str]:
    """The statements around which loops have the initiation interval, where not all have it."""
    return innermost_recurrences(program, dependences, pace.slow or frozenset())


def stride_entries(levels: Levels, weights: Mapping[int, int], statements: Mapping[str, Statement],
             nests: Mapping[str, tuple[str, ...]]) -> dict[str, StatementSchedule]:
    entries = {}
    for name, nest in nests.items():
        box = constant_bounds(statements[name])
        strides = {n: int(levels.rate[name, n]) * weights[levels.level[name, n]] for n in nest}
        low = {n: box[n][0] for n in nest}
        entries[name] = StatementSchedule(name, strides, low, {n: loop_trips(statements[name])[n] for n in nest}, 0)
    return entries
