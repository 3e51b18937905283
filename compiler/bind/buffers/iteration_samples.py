"""Iterations that stand for all others of a loop: those near its ends, and near the corners of what is looked at.

Cycles and addresses are affine functions of the loops, so the extremes of their differences lie at corners; modulo the
words of a block they repeat after a few iterations. So a few iterations in a row around every corner show all that
happens, and a nest that fits the first ones and the others fits all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import prod

import islpy as isl
import numpy as np

from compiler.bind.buffers.nest_fit import FittedNest, fit_nest

__all__ = ["MOST_LISTED", "IterationSamples", "corners", "near_ends"]

MOST_LISTED = 1 << 16
"""So many events of one port are listed rather than sampled."""

_AROUND = 8
"""Iterations on each side of a corner: a multiple of the words of a block, and of the usual divisors in accesses."""


def near_ends(trips: int, others: Collection[int]) -> np.ndarray:
    """The first and the last iterations of a loop, and those around `others`, ascending."""
    found = {k for corner in (0, trips - 1, *others) for k in range(corner - _AROUND, corner + _AROUND + 1)}
    return np.array(sorted(k for k in found if 0 <= k < trips))


def corners(points: isl.Set) -> list[tuple[int, ...]]:
    """The corners of the parts of a bounded set, rounded; none of a part whose corners isl does not find."""
    found: list[tuple[int, ...]] = []

    def note(vertex: isl.Vertex) -> None:
        at = vertex.get_expr()
        constants = (at.get_aff(k).get_constant_val() for k in range(at.dim(isl.dim_type.out)))
        found.append(tuple(c.floor().to_python() for c in constants))

    for part in points.get_basic_sets():
        part.remove_divs().compute_vertices().foreach_vertex(note)
    return found


@dataclass(frozen=True, eq=False)
class IterationSamples:
    """Loops, outermost first, with their numbers of iterations and those that are `kept`: for some loops a few."""

    trips: tuple[int, ...]
    kept: tuple[np.ndarray, ...]

    @staticmethod
    def few(trips: Sequence[int], around: Sequence[Sequence[int]]) -> IterationSamples:
        """As many loops sampled, from the outermost one on, as it takes for `MOST_LISTED` points, but not the innermost
        one: what is fetched together is in its iterations. `around`: corners, by loop."""
        kept = [np.arange(count) for count in trips]
        for level, (count, places) in enumerate(zip(trips[:-1], around[:-1], strict=True)):
            if prod(map(len, kept)) > MOST_LISTED:
                kept[level] = near_ends(count, places)
        return IterationSamples(tuple(trips), tuple(kept))

    @property
    def points(self) -> int:
        """Points that are kept."""
        return prod(map(len, self.kept))

    def grid(self) -> np.ndarray:
        """Iterators of all points that are kept, in order: shape [loops, points]."""
        return np.stack([axis.ravel() for axis in np.meshgrid(*self.kept, indexing="ij")])

    @property
    def sampled(self) -> list[int]:
        """The loops of which some iterations are left out."""
        return [k for k, (count, kept) in enumerate(zip(self.trips, self.kept, strict=True)) if len(kept) < count]

    def steps(self, values: np.ndarray) -> list[int] | None:
        """By how much `values` grow with an iteration of each sampled loop; None if not evenly."""
        table = values.reshape([len(kept) for kept in self.kept])
        found = []
        for level in self.sampled:
            along = np.moveaxis(table, level, 0)
            step = along[1] - along[0]
            numbers = self.kept[level].reshape(-1, *[1] * (along.ndim - 1))
            if (step != step.flat[0]).any() or (along != along[0] + numbers * step).any():
                return None
            found.append(int(step.flat[0]))
        return found

    def fit(self, columns: Callable[[np.ndarray], list[np.ndarray]], max_dims: int) -> FittedNest | None:
        """The nest of all iterations. `columns` gives those of the points that a mask over the kept ones selects."""
        inside = dict.fromkeys(self.sampled, _AROUND)
        found = fit_nest(columns(self._first(inside)), max_dims)
        if found is None:
            return None
        ranges = list(found.ranges)
        for level in self.sampled:
            more = fit_nest(columns(self._first(inside | {level: _AROUND + 1})), max_dims)
            if more is None or more.strides != found.strides:
                return None
            grown = [k for k, (low, high) in enumerate(zip(found.ranges, more.ranges, strict=True)) if low != high]
            if not grown and len(columns(self._first(inside | {level: self.trips[level]}))[0]) == prod(found.ranges):
                continue  # nothing in later iterations: what was fetched is held
            if len(grown) != 1 or more.ranges[grown[0]] * _AROUND != found.ranges[grown[0]] * (_AROUND + 1):
                return None
            ranges[grown[0]] = ranges[grown[0]] // _AROUND * self.trips[level]
        return FittedNest(tuple(ranges), found.strides, found.offsets)

    def _first(self, counts: dict[int, int]) -> np.ndarray:
        """Mask of the kept points in the first iterations of some loops."""
        masks = [kept < counts.get(level, self.trips[level]) for level, kept in enumerate(self.kept)]
        grid = np.meshgrid(*masks, indexing="ij")
        return np.logical_and.reduce(grid).ravel()
