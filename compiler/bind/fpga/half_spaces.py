"""Which of several sources reads take, by cuts between iterations at a value of an iterator, or of the difference or
the sum of two: what triangles and diagonals of instances take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import islpy as isl
import numpy as np

from compiler.analysis.affine import dimension_names, linear_function
from compiler.analysis.boxes import bounds
from compiler.analysis.port_nests import LoopSum, linear_sum

__all__ = ["ANY", "Cut", "Cuts", "Taken", "cut_domains", "cut_sources"]

ANY = -1
"""In place of the source of an instance that may take any."""

_MOST_LEAVES = 16
"""Most parts that cuts may lead to."""


@dataclass(frozen=True)
class Cut:
    """Instances whose number, of 0 to `size` - 1, is below `cut`, and the others."""

    numbers: LoopSum
    size: int
    cut: int
    below: Cuts
    above: Cuts


@dataclass(frozen=True)
class Taken:
    """A source, and the iterations of each loop around all that take it."""

    source: int
    box: tuple[slice, ...]


Cuts = Cut | Taken
"""A cut, or a source."""


def cut_domains(domains: Sequence[isl.Set], lows: Sequence[int], trips: Sequence[int]) -> Cuts | None:
    """As `cut_sources`, for the instances (from `lows` on) that take each source as sets, without listing them: cuts
    where one of them begins or ends, that go through as few as possible."""
    parts = [(number, isl.Set.from_basic_set(part)) for number, domain in enumerate(domains)
             for part in domain.coalesce().make_disjoint().get_basic_sets()]
    return _Halves(lows, trips, list(_functions(trips))).cuts(parts)


def cut_sources(taken: np.ndarray) -> Cuts | None:
    """The source of every instance (int64 of the shape of the loops), by cuts; None if there would be too many."""
    numbers = list(_functions(taken.shape))
    return _Tree(taken, numbers, [each.values().reshape(taken.shape) for each in numbers]).cuts(taken != ANY)


def _functions(trips: Sequence[int]) -> Iterator[LoopSum]:
    """Iterators, their differences and sums, from 0 on."""
    for k, count in enumerate(trips):
        if count > 1:
            yield linear_sum(0, [int(j == k) for j in range(len(trips))], trips)
    long = [k for k, count in enumerate(trips) if count > 1]
    for first, second in combinations(long, 2):
        for sign in (-1, 1):
            steps = [int(j == first) + sign * int(j == second) for j in range(len(trips))]
            yield linear_sum(trips[second] - 1 if sign < 0 else 0, steps, trips)


def _box(where: np.ndarray) -> tuple[slice, ...]:
    """Iterations around those (bool of the shape of the loops)."""
    ends = [np.flatnonzero(where.any(axis=tuple(j for j in range(where.ndim) if j != k))) for k in range(where.ndim)]
    return tuple(slice(int(places[0]), int(places[-1]) + 1) for places in ends)


@dataclass
class _Halves:
    """`left`: how many more parts there may be."""

    lows: Sequence[int]
    trips: Sequence[int]
    functions: list[LoopSum]
    left: int = _MOST_LEAVES

    def cuts(self, inside: list[tuple[int, isl.Set]]) -> Cuts | None:
        """Cuts of sources, by number, and the instances that take them."""
        if len({number for number, _ in inside}) == 1:
            self.left -= 1
            return None if self.left < 0 or not inside else self._taken(inside)
        found = self._cleanest([domain for _, domain in inside])
        if found is None or self.left <= 0:
            return None
        function, cut = found
        sides = [[(number, part) for number, domain in inside
                  if not (part := domain.intersect(self._side(domain, function, cut, below))).is_empty()]
                 for below in (True, False)]
        below = self.cuts(sides[0])
        above = self.cuts(sides[1]) if below is not None else None
        if below is None or above is None:
            return None
        return Cut(function, function.most + 1, cut, below, above)

    def _taken(self, inside: list[tuple[int, isl.Set]]) -> Taken:
        ends = zip(*(bounds(domain) for _, domain in inside), strict=True)
        return Taken(inside[0][0], tuple(
            slice(min(first for first, _ in loop) - low, max(last for _, last in loop) - low + 1)
            for low, loop in zip(self.lows, ends, strict=True)))

    def _cleanest(self, domains: Sequence[isl.Set]) -> tuple[LoopSum, int] | None:
        """The function and its value at which a cut goes through the fewest domains; None if all go on on both sides
        of every one."""
        best: tuple[int, int] | None = None
        found = None
        for number, function in enumerate(self.functions):
            ends = [self._ends(domain, function) for domain in domains]
            for cut in sorted({least for least, _ in ends} | {most + 1 for _, most in ends}):
                through = sum(least < cut <= most for least, most in ends)
                aside = [any(most < cut for _, most in ends), any(least >= cut for least, _ in ends)]
                if all(aside) and (best is None or (through, number) < best):
                    best, found = (through, number), (function, cut)
        return found

    def _ends(self, domain: isl.Set, function: LoopSum) -> tuple[int, int]:
        value = self._function(domain, function)
        return domain.min_val(value).to_python(), domain.max_val(value).to_python()

    def _side(self, domain: isl.Set, function: LoopSum, cut: int, below: bool) -> isl.Set:
        value, bound = self._function(domain, function), linear_function(domain, {}, cut)
        return value.lt_set(bound) if below else value.ge_set(bound)

    def _function(self, domain: isl.Set, function: LoopSum) -> isl.Aff:
        steps = [int(table[1]) if len(table) > 1 else 0 for table in function.tables]
        names = dimension_names(domain.get_space())
        start = function.base - sum(step * low for step, low in zip(steps, self.lows, strict=True))
        return linear_function(domain, dict(zip(names, steps, strict=True)), start)


@dataclass
class _Tree:
    """`left`: how many more parts there may be."""

    taken: np.ndarray
    functions: list[LoopSum]
    values: list[np.ndarray]
    left: int = _MOST_LEAVES

    def cuts(self, inside: np.ndarray) -> Cuts | None:
        """Cuts of the instances `inside` whose source counts, the purest first."""
        sources = np.unique(self.taken[inside])
        if len(sources) == 1:
            self.left -= 1
            return None if self.left < 0 else Taken(int(sources[0]), _box(inside))
        number, cut = self._purest(inside, sources)
        low = self.values[number] < cut
        below = self.cuts(inside & low)
        above = self.cuts(inside & ~low) if below is not None else None
        if below is None or above is None:
            return None
        return Cut(self.functions[number], self.functions[number].most + 1, cut, below, above)

    def _purest(self, inside: np.ndarray, sources: np.ndarray) -> tuple[int, int]:
        """The function and its value at which the parts have the most instances of one source each."""
        kinds = np.searchsorted(sources, self.taken[inside])
        best = (-1.0, 0, 0)
        for number, values in enumerate(self.values):
            here, size = values[inside], self.functions[number].most + 1
            counts = np.bincount(here * len(sources) + kinds, minlength=size * len(sources)).reshape(size, -1)
            below = np.cumsum(counts, axis=0)[:-1]
            above = counts.sum(axis=0) - below
            some = np.flatnonzero(below.any(axis=1) & above.any(axis=1))
            if len(some):
                purity = sum((part[some] ** 2).sum(axis=1) / part[some].sum(axis=1) for part in (below, above))
                place = int(np.argmax(purity))
                best = max(best, (float(np.asarray(purity)[place]), -number, int(some[place]) + 1))
        return -best[1], best[2]
