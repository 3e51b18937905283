"""Which points of the box around a statement's iterations are iterations, as arrays.

A box, or all but a box, is said by a row of bits for each dimension; the bits of other sets are a table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import islpy as isl
import numpy as np

from compiler.analysis.boxes import box_around
from compiler.frontend.parallel_array.array import Array, ArrayLike, array_constant
from compiler.frontend.parallel_array.functions import where
from compiler.ir.points import contains

__all__ = ["IterationMask", "Mask"]

_POINTS = 1 << 18
"""Points that are looked at at once: a table takes a byte for each of its own, the work on it many times more."""


class Mask(ABC):
    """Which points of an index space are iterations."""

    @abstractmethod
    def bits(self) -> Array:
        """Which points are iterations: an array of bool, of extent 1 along dimensions that make no difference."""

    def select(self, value: Array, others: ArrayLike) -> Array:
        """`value` for all iterations, and `others` for the points around them."""
        return where(self.bits(), value, others)


@dataclass(frozen=True)
class IterationMask(Mask):
    """The iterations `domain`, no box, among the points of the least box around them, `sizes` of them from `low` on."""

    domain: isl.Set
    low: tuple[int, ...]
    sizes: tuple[int, ...]

    def select(self, value: Array, others: ArrayLike) -> Array:
        """`value` for all iterations, and `others` for the points around them."""
        return super().select(value, others) if self._hole is None else where(self._hole, others, value)

    def bits(self) -> Array:
        """Which points are iterations."""
        return array_constant(self.table())

    @cached_property
    def _hole(self) -> Array | None:
        """Of iterations that leave out a box, which points these are."""
        left_out = box_around(self.domain).subtract(self.domain).coalesce()
        if not left_out.is_box():
            return None
        bits: Array | None = None
        for axis, (low, size) in enumerate(zip(self.low, self.sizes, strict=True)):
            first, last = (n.to_python() - low for n in (left_out.dim_min_val(axis), left_out.dim_max_val(axis)))
            if last - first + 1 < size:
                points = np.arange(size)
                own = array_constant(_along((first <= points) & (points <= last), axis, len(self.sizes)))
                bits = own if bits is None else bits & own
        return bits

    def table(self) -> np.ndarray:
        """A bit for each point: bool of shape `sizes`."""
        rows = max(1, _POINTS // max(1, int(np.prod(self.sizes[1:], dtype=np.int64))))
        first = range(0, self.sizes[0], rows)
        return np.concatenate([self._part(start, min(rows, self.sizes[0] - start)) for start in first])

    def _part(self, start: int, rows: int) -> np.ndarray:
        sizes = (rows, *self.sizes[1:])
        lows = (self.low[0] + start, *self.low[1:])
        columns = [axis.ravel() + low for axis, low in zip(np.indices(sizes, dtype=np.int64), lows, strict=True)]
        return contains(self.domain, columns, int(np.prod(sizes))).reshape(sizes)


def _along(row: np.ndarray, axis: int, dimensions: int) -> np.ndarray:
    """A row along one of the dimensions, of extent 1 along the others."""
    return row.reshape([-1 if d == axis else 1 for d in range(dimensions)])
