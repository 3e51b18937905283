"""What statements have written to an array so far: parts of it, put together when somebody reads it or at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from compiler.frontend.parallel_array.array import Array, array_constant
from compiler.frontend.parallel_array.expression import Literal, Place, View, default
from compiler.frontend.parallel_array.functions import assembled, stretch, where
from compiler.frontend.parallel_array.location import written_at

__all__ = ["Contents", "Written"]

MOST = 32
"""Parts that results are put together of in memory; more of them are small, and selected between on chip."""


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


class Contents:
    """An array of `shape`, of zeros of type `kind` where nothing has been written."""

    def __init__(self, shape: tuple[int, ...], kind: np.dtype, whole: Array | None = None) -> None:
        self.shape = shape
        self.kind = kind
        self._whole = whole
        self._parts: list[Written] = []

    def write(self, part: Written) -> None:
        """`part` replaces what was there."""
        if part.value.shape == self.shape:
            self._whole, self._parts = part.value, []
        else:
            self._parts.append(part)

    def read(self) -> Array:
        """The array for those who compute with it: selected element by element."""
        for part in self._parts:
            self._whole = _over(part, self._whole, self.shape)
        self._parts = []
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
