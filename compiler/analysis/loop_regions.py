"""Parts of a box of iterations in which bounds are between pairs of loops that form no circles: triangles, simplices,
ranges between two loops.

A function that is a sum over the loops has its least value there in time that grows with the sum of the trip counts:
of the loops on which no other range depends first, the least over each range is added to the table of the loop that the
range depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import islpy as isl
import numpy as np

from compiler.analysis.port_nests import LoopSum, loop_sum
from compiler.ir.points import evaluate_map

__all__ = ["LoopRegion", "least_in", "loop_region", "most_in"]

_FAR = 1 << 60


@dataclass(frozen=True, eq=False)
class LoopRegion:
    """Iterations of a box: those of loop k from ``lows[k]`` to before ``highs[k]``, numbers from 0 on that are given
    for each iteration of the loop ``parents[k]``, around it or inside (int64 of shape [trips of that loop]), or, where
    that is None, once."""

    parents: tuple[int | None, ...]
    lows: tuple[np.ndarray, ...]
    highs: tuple[np.ndarray, ...]

    @cached_property
    def _inwards(self) -> list[int]:
        """All loops, each before the one that its range depends on."""
        depths = [0] * len(self.parents)
        for k, parent in enumerate(self.parents):
            while parent is not None:
                depths[k], parent = depths[k] + 1, self.parents[parent]
        return sorted(range(len(depths)), key=lambda k: -depths[k])

    def taken(self, kept: Sequence[np.ndarray]) -> LoopRegion:
        """Those among some iterations of each loop (`kept`: their numbers, ascending), numbered anew."""
        ends = [tuple(np.searchsorted(kept[k], side[k] if parent is None else side[k][kept[parent]])
                      for k, parent in enumerate(self.parents)) for side in (self.lows, self.highs)]
        return LoopRegion(self.parents, *ends)

    def pinned(self) -> tuple[LoopRegion | None, Callable[[LoopSum], LoopSum]] | None:
        """Where loops have one iteration only for each of one around them: the region (None: a box) that is left if
        they run once, and what a function on the whole box becomes there. None if there are no such loops."""
        region, folds = self, list[_Fold]()
        while (fold := region._fold()) is not None:
            region, folds = fold.region(region), [*folds, fold]
        if not folds:
            return None

        def folded(function: LoopSum) -> LoopSum:
            for fold in folds:
                function = fold.function(function)
            return function

        return region._boxed(folded)

    def _fold(self) -> _Fold | None:
        """A loop that has one iteration only for each of one around it; None if there is none."""
        for k, parent in enumerate(self.parents):
            counts = self.highs[k] - self.lows[k]
            if parent is not None and parent < k and counts.max(initial=0) == 1:
                kept = np.flatnonzero(counts > 0)
                return _Fold(k, parent, kept, self.lows[k][kept])
        return None

    def _boxed(self, folded: Callable[[LoopSum], LoopSum]) -> tuple[LoopRegion | None, Callable[[LoopSum], LoopSum]]:
        """The same functions on the box, if the region is one."""
        if any(parent is not None for parent in self.parents):
            return self, folded
        kept = [np.arange(int(low[0]), int(high[0])) for low, high in zip(self.lows, self.highs, strict=True)]
        return None, lambda function: folded(function).taken(kept)

    def least(self, function: LoopSum) -> int | None:
        """The smallest value of a function on the box at one of the iterations; None if there are none."""
        tables, total = list(function.tables), function.base
        for k in self._inwards:
            found, parent = _least_between(tables[k], self.lows[k], self.highs[k]), self.parents[k]
            if parent is None:
                total += int(found[0])
            else:
                tables[parent] = np.minimum(tables[parent] + found, _FAR)
        return None if total > _FAR // 2 else total

    def most(self, function: LoopSum) -> int | None:
        """The largest value, likewise."""
        least = self.least(function.times(-1))
        return None if least is None else -least


@dataclass(frozen=True, eq=False)
class _Fold:
    """Loop `loop` runs once: in the iterations `kept` of loop `parent`, of which others are none, it is in `places`."""

    loop: int
    parent: int
    kept: np.ndarray
    places: np.ndarray

    def function(self, function: LoopSum) -> LoopSum:
        """A function in these iterations, which the loop around has instead."""
        tables = list(function.tables)
        tables[self.parent] = tables[self.parent][self.kept] + tables[self.loop][self.places]
        tables[self.loop] = np.zeros(1, np.int64)
        return loop_sum(function.base, tables)

    def region(self, region: LoopRegion) -> LoopRegion:
        """What is left of a region: ranges that depend on the loop do on the one around it."""
        parents, lows, highs = list(region.parents), list(region.lows), list(region.highs)
        for k, parent in enumerate(parents):
            if parent in (self.loop, self.parent):
                parents[k] = self.parent
                chosen = self.places if parent == self.loop else self.kept
                lows[k], highs[k] = lows[k][chosen], highs[k][chosen]
        parents[self.loop], lows[self.loop], highs[self.loop] = None, np.zeros(1, np.int64), np.ones(1, np.int64)
        lows[self.parent], highs[self.parent] = (np.searchsorted(self.kept, side)
                                                 for side in (lows[self.parent], highs[self.parent]))
        return LoopRegion(tuple(parents), tuple(lows), tuple(highs))


def least_in(function: LoopSum, region: LoopRegion | None) -> int | None:
    """The smallest value of a function in a region of a box, or on all of it; None if there is none."""
    return function.least if region is None else region.least(function)


def most_in(function: LoopSum, region: LoopRegion | None) -> int | None:
    """The largest value, likewise."""
    return function.most if region is None else region.most(function)


def _least_between(values: np.ndarray, lows: np.ndarray, highs: np.ndarray) -> np.ndarray:
    """The least of the values from each of `lows` to before that of `highs`; far above all others if there is none."""
    found = np.full(len(lows), _FAR)
    width, table, counts = 1, values, highs - lows
    while len(table):  # table[k] is the least of `width` values from number k on
        mine = (counts >= width) & (counts < 2 * width)
        found[mine] = np.minimum(table[lows[mine]], table[highs[mine] - width])
        table = np.minimum(table[:-width], table[width:]) if len(table) > width else table[:0]
        width *= 2
    return found


def loop_region(points: isl.Set, lows: Sequence[int], trips: Sequence[int]) -> LoopRegion | None:
    """`points` of a box that begins at `lows`; None if they are none such: there are bounds of more than two loops, or
    the pairs of loops with a bound between them form circles."""
    points = points.reset_tuple_id()
    parents = _parents(points, len(trips)) if _is_convex(points) else None
    if parents is None:
        return None
    shadows = [_shadow(points, k, parent) for k, parent in enumerate(parents)]
    whole = isl.Set.universe(points.get_space())
    for k, (parent, shadow) in enumerate(zip(parents, shadows, strict=True)):
        whole = whole.intersect(_lifted(shadow, _places(k, parent), len(trips)))
    if not (all(map(_is_convex, shadows)) and whole.is_subset(points)):
        return None
    ends = [_ends(shadow, k, parents[k], lows, trips) for k, shadow in enumerate(shadows)]
    return LoopRegion(tuple(parents), tuple(low for low, _ in ends), tuple(high for _, high in ends))


def _parents(points: isl.Set, loops: int) -> list[int | None] | None:
    """For each loop the one on which its range depends, if any: of two that have a bound in common, the one that leads
    from the other to the outermost. None if that is not one."""
    beside = _loops_beside(points, loops)
    if beside is None:
        return None
    parents: list[int | None] = [None] * loops
    seen: set[int] = set()
    for root in range(loops):
        waiting = [] if root in seen else [root]
        while waiting:
            k = waiting.pop()
            seen.add(k)
            others = beside[k] - {parents[k]}
            if others & (seen | {*waiting}):
                return None
            for other in others:
                parents[other] = k
            waiting += sorted(others)
    return parents


def _loops_beside(points: isl.Set, loops: int) -> list[set[int]] | None:
    """For each loop those with which it has a bound in common; None if there are bounds of more than two."""
    found: list[set[int]] = [set() for _ in range(loops)]
    [part] = points.coalesce().get_basic_sets()
    for bound in part.detect_equalities().remove_redundancies().get_constraints():
        some = {k for k in range(loops) if bound.involves_dims(isl.dim_type.set, k, 1)}
        if len(some) > 2:
            return None
        for k in some:
            found[k] |= some - {k}
    return found


def _places(k: int, parent: int | None) -> list[int]:
    """A loop and the one that its range depends on, the outermost first."""
    return [k] if parent is None else sorted((parent, k))


def _shadow(points: isl.Set, k: int, parent: int | None) -> isl.Set:
    """The values of dimension k, with those of its parent."""
    return _projected(points, _places(k, parent))


def _is_convex(points: isl.Set) -> bool:
    """Whether there are all integer points between those there are."""
    parts = points.coalesce().get_basic_sets()
    return len(parts) == 1 and parts[0].dim(isl.dim_type.div) == 0


def _projected(points: isl.Set, places: Sequence[int]) -> isl.Set:
    """The values of some dimensions, ascending."""
    for k in reversed(range(points.dim(isl.dim_type.set))):
        if k not in places:
            points = points.project_out(isl.dim_type.set, k, 1)
    return points.reset_tuple_id().coalesce()


def _ends(shadow: isl.Set, k: int, parent: int | None, lows: Sequence[int],
          trips: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """The first number in the range of loop k, and the one behind its last, for each iteration of its parent."""
    relation, count = isl.Map.from_range(shadow), 1
    columns: list[np.ndarray] = []
    if parent is not None:
        relation, count = relation.move_dims(isl.dim_type.in_, 0, isl.dim_type.out, int(parent > k), 1), trips[parent]
        columns = [np.arange(count, dtype=np.int64) + lows[parent]]
    first, last = np.zeros(count, np.int64), np.zeros(count, np.int64)
    there = _inside(relation.domain(), columns, count)
    kept = [column[there] for column in columns]
    for found, end, behind in ((first, relation.lexmin(), 0), (last, relation.lexmax(), 1)):
        [values] = evaluate_map(end, end.domain(), kept, int(there.sum()))
        found[there] = values - lows[k] + behind
    return first, last


def _inside(values: isl.Set, columns: Sequence[np.ndarray], count: int) -> np.ndarray:
    """Which iterations of a parent are in a range without gaps."""
    if not columns:
        return np.ones(count, bool)
    return (columns[0] >= values.dim_min_val(0).to_python()) & (columns[0] <= values.dim_max_val(0).to_python())


def _lifted(shadow: isl.Set, places: Sequence[int], loops: int) -> isl.Set:
    """The points of so many dimensions whose values in some, at `places`, are in `shadow`."""
    for place in range(loops):
        shadow = shadow if place in places else shadow.insert_dims(isl.dim_type.set, place, 1)
    return shadow
