"""When the words of an edge are written and read by the counters, in ticks: one by one, or as relations.

Both classes answer the same questions. The few words of an edge are numbers; of more, the ticks from write to read are
a difference of two counting functions (`compiler.analysis.walks`), and that a word comes before another is a relation
between vectors of the counters, moved by so many ticks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce

import islpy as isl
import numpy as np

from compiler.analysis.counting import Term, Terms, UncountedError, greatest, joined, lex_below, lex_count
from compiler.analysis.polynomial import Polynomial
from compiler.analysis.walks import Walk

__all__ = ["CountedTicks", "SymbolicTicks", "WordTicks", "levels", "live_values", "ticks_between"]


@dataclass(frozen=True)
class CountedTicks:
    """The tick in which each word is written and read: int64 of shape [words]."""

    written: np.ndarray
    read: np.ndarray

    @cached_property
    def least(self) -> int:
        """The shortest way of a word, in ticks."""
        return int((self.read - self.written).min())

    @cached_property
    def constant(self) -> bool:
        """Whether all words take the same time."""
        distances = self.read - self.written
        return bool((distances == distances[0]).all())

    @cached_property
    def in_order(self) -> bool:
        """Whether words are read in the order in which they are written."""
        return bool((np.diff(self.read[np.argsort(self.written)]) > 0).all())

    def single(self, extra: int = 0) -> bool:
        """Whether every word is read before the next one is written, or in the same tick, if reads come `extra` ticks
        later."""
        order = np.argsort(self.written)
        return bool((self.read[order][:-1] + extra <= self.written[order][1:]).all())

    def high_water(self, extra: int) -> int:
        """Most words that are written in an earlier tick and not read before the present one, if reads come `extra`
        ticks later."""
        written, read = np.sort(self.written), np.sort(self.read) + extra
        gone = np.searchsorted(read, written, side="right")
        return int((np.arange(1, len(written) + 1) - gone).max(initial=0))

    def put_off(self, later: np.ndarray) -> CountedTicks:
        """When each tick comes `later` (int64 of shape [ticks])."""
        return CountedTicks(self.written + later[self.written], self.read + later[self.read])


class SymbolicTicks:
    """`relation` {counters at which a word is written -> counters at which it is read}, one to one, on the vectors of
    `clock`. What is not counted with symbols is answered by `numbers`, which gets the reason."""

    def __init__(self, relation: isl.Map, clock: Walk, numbers: Callable[[UncountedError], CountedTicks]) -> None:
        self.relation = relation
        self.clock = clock
        self.writes, self.reads = Walk(relation.domain()), Walk(relation.range())
        self._make_numbers = numbers

    @cached_property
    def _between(self) -> tuple[int, int]:
        try:
            return ticks_between(self.relation, self.clock)
        except UncountedError as reason:
            distances = self.numbers(reason).read - self.numbers(reason).written
            return int(distances.min()), int(distances.max())

    def numbers(self, reason: UncountedError) -> CountedTicks:
        """The words one by one, because of `reason`. Raises `DataflowError` if they are too many."""
        if self._numbers is None:
            self._numbers = self._make_numbers(reason)
        return self._numbers

    _numbers: CountedTicks | None = None

    @property
    def least(self) -> int:
        """The shortest way of a word, in ticks."""
        return self._between[0]

    @property
    def most(self) -> int:
        """The longest way of a word, in ticks."""
        return self._between[1]

    @property
    def constant(self) -> bool:
        """Whether all words take the same time."""
        return self.least == self.most

    @cached_property
    def in_order(self) -> bool:
        """Whether words are read in the order in which they are written."""
        if self.constant:
            return True
        return self._pairs.apply_domain(self.relation).apply_range(self.relation).is_subset(self._later)

    @property
    def _later(self) -> isl.Map:
        return isl.Map.lex_lt(self.writes.points.get_space())

    @cached_property
    def _pairs(self) -> isl.Map:
        """{a write -> a later one}."""
        return self._later.intersect_domain(self.writes.points).intersect_range(self.writes.points)

    def single(self, extra: int = 0) -> bool:
        """Whether every word is read before the next one is written, or in the same tick, if reads come `extra` ticks
        later."""
        try:
            return self.alive(extra).is_empty()
        except UncountedError as reason:
            return self.numbers(reason).single(extra)

    def alive(self, extra: int) -> isl.Map:
        """{a word's write -> a later write that comes before the word is read}, if reads come `extra` ticks later.
        Raises `UncountedError`."""
        earlier = isl.Map.lex_gt(self.writes.points.get_space())
        if extra < 0:
            moved = self.clock.shift(-extra).intersect_domain(self.writes.points)
            return self._pairs.intersect(self.relation.apply_range(earlier).apply_range(moved.reverse()))
        read = self.relation.apply_range(self.clock.shift(extra))
        late = self.writes.points.subtract(read.domain())
        found = self._pairs.intersect(read.apply_range(earlier))
        return found if late.is_empty() else found.union(self._pairs.intersect_domain(late))

    def high_water(self, extra: int) -> int:
        """Most words that are written in an earlier tick and not read before the present one, if reads come `extra`
        ticks later."""
        try:
            return levels(self.writes, self.reads, self.clock, extra)
        except UncountedError as reason:
            return self.numbers(reason).high_water(extra)


WordTicks = CountedTicks | SymbolicTicks


@lru_cache(maxsize=1024)
def ticks_between(relation: isl.Map, clock: Walk) -> tuple[int, int]:
    """Least and most ticks from a vector to the one that `relation` gives for it. Candidates that differ in idle ticks,
    or in operators only, ask for the same again."""
    found = clock.between(relation)
    assert found is not None
    return found


def levels(writes: Walk, reads: Walk, clock: Walk, extra: int) -> int:
    """Most words that are written and not read, at the writes, if every read comes `extra` ticks later."""
    return _levels(writes, (reads.below, reads.count), clock, extra)


def _levels(writes: Walk, reads: tuple[Terms, int], clock: Walk, extra: int) -> int:
    """The same, for numbers of reads that come before a vector, and of all."""
    dims = clock.dims
    moved = clock.shift(1 - extra).intersect_domain(writes.points)
    pairs = moved.wrap().flatten()
    one = Term(isl.BasicSet.universe(pairs.get_space()), Polynomial.constant(1))
    level = joined([*lex_below(writes.below, dims, 0, 2 * dims), one], lex_below(reads[0], dims, dims, 2 * dims))
    found = [greatest(level, pairs)]
    rest = writes.points.subtract(moved.domain())
    if not rest.is_empty():
        constant = Term(isl.BasicSet.universe(rest.get_space()), Polynomial.constant(1 - reads[1] * (extra < 1)))
        found.append(greatest([*writes.below, constant], rest))
    return max(0, *(value for value in found if value is not None))


def live_values(uses: Sequence[tuple[isl.Map, int]], given: int, clock: Walk) -> int:
    """Most values that are written and not read for the last time. `uses`: {counters at which values are written ->
    counters at which they are read}, and the ticks from these to the read; `given`: those from counters to write."""
    first = min(ticks for _, ticks in uses)
    moved = [(relation, relation.apply_range(clock.shift(ticks - first))) for relation, ticks in uses]
    written = reduce(isl.Set.union, (relation.domain() for relation, _ in moved))
    after = reduce(isl.Set.union, (relation.domain().subtract(later.domain()) for relation, later in moved))
    total = reduce(isl.Map.union, (later for _, later in moved)).subtract_domain(after)
    last = total.lexmax().reverse().wrap().flatten()
    return _levels(Walk(written), lex_count(last, clock.dims), clock, first - given)
