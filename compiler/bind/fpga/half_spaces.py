"""Which of several sources reads take, by cuts between iterations at a value of an iterator, or of the difference or
the sum of two: what triangles and diagonals of instances take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from compiler.analysis.port_nests import LoopSum, linear_sum

__all__ = ["ANY", "Cut", "Cuts", "cut_sources"]

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


Cuts = Cut | tuple[int, np.ndarray]
"""A cut, or a source and where it is taken: bool of the shape of the loops."""


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
            return None if self.left < 0 else (int(sources[0]), inside)
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
