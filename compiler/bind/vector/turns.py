"""Loops as dimensions of time, whose turns statements are carried out in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import islpy as isl

from compiler.analysis.boxes import bounds

__all__ = ["Turns", "turns_in"]


@dataclass(frozen=True)
class Turns:
    """A loop that statements are carried out in: dimension of time, its first and last value."""

    dimension: int
    low: int
    high: int

    @property
    def count(self) -> int:
        """Turns."""
        return self.high - self.low + 1

    def part(self, space: isl.Space, first: int, last: int) -> isl.Set:
        """The times of the turns from `first` to `last`, counted from 0."""
        times = isl.Set.universe(space)
        times = times.lower_bound_val(isl.dim_type.set, self.dimension, isl.Val(self.low + first))
        return times.upper_bound_val(isl.dim_type.set, self.dimension, isl.Val(self.low + last))

    def divided(self, parts: int) -> Iterator[Turns]:
        """The turns in so many loops, or in one for each turn if there are fewer."""
        parts = min(parts, self.count)
        ends = [self.low + self.count * number // parts for number in range(parts + 1)]
        yield from (Turns(self.dimension, first, end - 1) for first, end in pairwise(ends))

    def same(self, space: isl.Space, block: int) -> isl.Map:
        """Pairs of times in the same block of so many turns."""
        names = [f"t{d}" for d in range(space.dim(isl.dim_type.set))]
        others = [f"u{d}" for d in range(len(names))]
        t, u = (f"floor(({name[self.dimension]} - {self.low})/{block})" for name in (names, others))
        return isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(others)}] : {t} = {u} }}")


def turns_in(times: Sequence[isl.Set]) -> Iterator[Turns]:
    """The dimensions in which `times` differ, outermost first."""
    for dimension, ends in enumerate(zip(*map(bounds, times), strict=True)):
        low, high = min(first for first, _ in ends), max(last for _, last in ends)
        if low < high:
            yield Turns(dimension, low, high)
