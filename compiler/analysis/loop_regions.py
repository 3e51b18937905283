"""Parts of a box of iterations in which the range of a loop depends on one loop around it: triangles, simplices.

A function that is a sum over the loops has its least value there in time that grows with the sum of the trip counts:
from the innermost loop outwards, the least over each range is added to the table of the loop that the range depends on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl
import numpy as np

from compiler.analysis.port_nests import LoopSum
from compiler.ir.points import evaluate_map

__all__ = ["LoopRegion", "least_in", "loop_region", "most_in"]

_FAR = 1 << 60


@dataclass(frozen=True, eq=False)
class LoopRegion:
    """Iterations of a box: those of loop k from ``lows[k]`` to before ``highs[k]``, numbers from 0 on that are given
    for each iteration of the loop ``parents[k]`` around it (int64 of shape [trips of that loop]), or, where that is
    None, once."""

    parents: tuple[int | None, ...]
    lows: tuple[np.ndarray, ...]
    highs: tuple[np.ndarray, ...]

    def taken(self, kept: Sequence[np.ndarray]) -> LoopRegion:
        """Those among some iterations of each loop (`kept`: their numbers, ascending), numbered anew."""
        ends = [tuple(np.searchsorted(kept[k], side[k] if parent is None else side[k][kept[parent]])
                      for k, parent in enumerate(self.parents)) for side in (self.lows, self.highs)]
        return LoopRegion(self.parents, *ends)

    def least(self, function: LoopSum) -> int | None:
        """The smallest value of a function on the box at one of the iterations; None if there are none."""
        tables, total = list(function.tables), function.base
        for k in reversed(range(len(tables))):
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
    """`points` of a box that begins at `lows`; None if they are none such: the range of a loop depends on several."""
    if not _is_convex(points):
        return None
    parents: list[int | None] = []
    sides: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    around = isl.Set.universe(_projected(points, []).get_space())
    for k in range(len(trips)):
        around, inside = around.add_dims(isl.dim_type.set, 1), _projected(points, range(k + 1))
        found = next(((parent, shadow) for parent in (None, *reversed(range(k)))
                      if around.intersect(_lifted(shadow := _shadow(points, k, parent), k, parent)).is_subset(inside)
                      and _is_convex(shadow)), None)
        if found is None:
            return None
        parents.append(found[0])
        for side, ends in zip(sides, _ends(found[1], k, found[0], lows, trips), strict=True):
            side.append(ends)
        around = inside
    return LoopRegion(tuple(parents), tuple(sides[0]), tuple(sides[1]))


def _shadow(points: isl.Set, k: int, parent: int | None) -> isl.Set:
    """The values of dimension k, with those of its parent."""
    return _projected(points, [k] if parent is None else [parent, k])


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
        relation, count = relation.move_dims(isl.dim_type.in_, 0, isl.dim_type.out, 0, 1), trips[parent]
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


def _lifted(shadow: isl.Set, k: int, parent: int | None) -> isl.Set:
    """The points of k + 1 dimensions of which the last, and that of its parent, are in `shadow`."""
    if parent is None:
        return shadow.insert_dims(isl.dim_type.set, 0, k)
    return shadow.insert_dims(isl.dim_type.set, 1, k - parent - 1).insert_dims(isl.dim_type.set, 0, parent)
