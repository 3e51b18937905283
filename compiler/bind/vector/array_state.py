"""What statements have written to an array so far: parts of it, put together when somebody reads it or at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import gcd, prod

import numpy as np

from compiler.frontend.parallel_array.array import Array, array_constant
from compiler.frontend.parallel_array.expression import Literal, Place, View, default
from compiler.frontend.parallel_array.functions import assembled, stretch, where
from compiler.frontend.parallel_array.location import written_at

__all__ = ["Contents", "Indices", "Written"]

MOST = 32
"""Parts that results are put together of in memory; more of them are small, and selected between on chip."""

RECENT = 256
"""Parts among which the one that a reader asks for is looked for."""


@dataclass(frozen=True)
class Indices:
    """Indices of a dimension of an array, some of ``first, first + step, ..., last``, of which both ends are there."""

    first: int
    last: int
    step: int

    @classmethod
    def of(cls, offset: int, row: Sequence[int], sizes: Sequence[int]) -> Indices:
        """The indices ``offset + row @ i`` for i from 0 up to `sizes`."""
        moving = [(c, n) for c, n in zip(row, sizes, strict=True) if n > 1]
        ends = [c * (n - 1) for c, n in moving]
        return cls(offset + sum(min(e, 0) for e in ends), offset + sum(max(e, 0) for e in ends),
                   gcd(*(c for c, _ in moving)) or 1)

    def within(self, other: range) -> bool:
        """Whether all of them are in `other`, whose step is positive."""
        return (self.first in other and self.last in other
                and (self.first == self.last or self.step % other.step == 0))

    def apart(self, other: range) -> bool:
        """Whether surely none of them is in `other`."""
        return (self.last < other[0] or self.first > other[-1]
                or (self.first - other[0]) % gcd(self.step, other.step) != 0)


@dataclass(frozen=True)
class Written:
    """Elements of an array: element i of `value` is ``place.first + i * place.steps`` of the array."""

    value: Array
    place: Place

    def along(self, axis: int) -> range:
        """Indices of a dimension."""
        first, step = self.place.first[axis], self.place.steps[axis]
        return range(first, first + step * self.value.shape[axis], step)

    def meets(self, other: Written) -> bool:
        """Whether some element belongs to both."""
        return not any(set(self.along(axis)).isdisjoint(other.along(axis)) for axis in range(self.value.ndim))

    def holds(self, wanted: Sequence[Indices]) -> bool:
        """Whether all of the `wanted` elements belong to it."""
        return all(indices.within(self.along(axis)) for axis, indices in enumerate(wanted))

    def lacks(self, wanted: Sequence[Indices]) -> bool:
        """Whether surely none of them does."""
        return any(indices.apart(self.along(axis)) for axis, indices in enumerate(wanted))


class Contents:
    """An array of `shape`, of zeros of type `kind` where nothing has been written."""

    def __init__(self, shape: tuple[int, ...], kind: np.dtype, whole: Array | None = None) -> None:
        self.shape = shape
        self.kind = kind
        self._whole = whole
        self._parts: list[Written] = []
        self._assembled = 0
        """Parts that `_whole` has already."""

    def write(self, part: Written) -> None:
        """`part` replaces what was there."""
        if part.value.shape == self.shape:
            self._whole, self._parts, self._assembled = part.value, [], 0
        else:
            self._parts.append(part)

    def last(self, wanted: Sequence[Indices]) -> Written | None:
        """The part that was written last of those that have some of the `wanted` elements, if it has all of them."""
        for part in islice(reversed(self._parts), RECENT):
            if part.holds(wanted):
                return part
            if not part.lacks(wanted):
                return None
        return None

    def read(self) -> Array:
        """The array for those who compute with it: selected element by element."""
        for part in self._parts[self._assembled:]:
            self._whole = _over(part, self._whole, self.shape)
        self._assembled = len(self._parts)
        return array_constant(np.zeros(self.shape, self.kind)) if self._whole is None else self._whole

    def result(self) -> Array:
        """The array as it is stored: parts that do not meet are stored one by one."""
        if not self._parts or len(self._parts) > MOST or not _covers(self._parts, self.shape):
            return self.read()
        last = self._parts[-1].value.expression.location
        with written_at(last.file, last.line):
            return assembled(self.shape, [(part.value, part.place) for part in self._parts])


def _covers(parts: Sequence[Written], shape: tuple[int, ...]) -> bool:
    """Whether every element belongs to one part."""
    if sum(prod(part.value.shape) for part in parts) != prod(shape):
        return False
    return not any(a.meets(b) for a, b in combinations(parts, 2))


def _over(part: Written, old: Array | None, shape: tuple[int, ...]) -> Array:
    """`old`, or zeros, with the part in its place."""
    value, place = part.value, part.place
    plain = all(s == 1 for s in place.steps)
    spread = value if plain else stretch(value, place.steps)
    around = 0 if old is None else _number(old)
    moved = spread.section([-s for s in place.first], shape, 1, default(around or 0))
    if plain and around is not None:
        return moved
    return where(_mask(part, shape), moved, array_constant(np.zeros(shape, value.dtype)) if old is None else old)


def _number(array: Array) -> int | None:
    """The number that all elements are known to be."""
    expression = array.expression
    while isinstance(expression, View) and not any(expression.boundaries):
        expression = expression.source
    if not isinstance(expression, Literal) or not expression.value.size:
        return None
    low, high = int(expression.value.min()), int(expression.value.max())
    return low if low == high else None


def _mask(part: Written, shape: tuple[int, ...]) -> Array:
    """Which elements are written."""
    found: Array | None = None
    for axis, extent in enumerate(shape):
        inside = np.isin(np.arange(extent), part.along(axis))
        if not inside.all():
            along = array_constant(inside.reshape([-1 if d == axis else 1 for d in range(len(shape))]))
            found = along if found is None else found & along
    return array_constant(np.ones((1,) * len(shape), np.bool_)) if found is None else found
