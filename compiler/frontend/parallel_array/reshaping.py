"""Numpy's reshape: the same elements, row by row, in another shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from compiler.frontend.parallel_array.array import Array
from compiler.frontend.parallel_array.expression import WRAP
from compiler.frontend.parallel_array.functions import stretch
from compiler.frontend.parallel_array.location import Location, here
from compiler.frontend.parallel_array.views import bounded_view, viewed

__all__ = ["ravel", "reshape"]


def ravel(a: Array) -> Array:
    """All elements in one dimension."""
    return reshape(a, -1)


def reshape(a: Array, *shape: Any) -> Array:
    """The same elements in another shape, row by row; one size can be -1."""
    location = here()
    sizes = list(shape[0] if len(shape) == 1 and not isinstance(shape[0], int | np.integer) else shape)
    if sizes.count(-1) == 1 and a.size % -prod(sizes) == 0:
        sizes[sizes.index(-1)] = a.size // -prod(sizes)
    if not sizes or prod(sizes) != a.size or sorted(sizes)[0] < 1:
        raise location.error(f"shape {a.shape} of {a.size} elements cannot become {tuple(sizes)}")
    rows = _rows(a.shape, sizes)
    if rows is None:
        a = _joined(a, list(_groups(a.shape, sizes)), location)
        rows = _rows(a.shape, sizes)
    assert rows is not None
    return Array(viewed(a.expression, tuple(sizes), tuple(map(tuple, rows)), (0,) * a.ndim, None, location))


def _rows(shape: Sequence[int], sizes: Sequence[int]) -> list[list[int]] | None:
    """What the indices of dimensions `sizes` count for in those of `shape`; None if some of these have to be joined."""
    rows = [_split(sizes, prod(shape[axis + 1:]), n) for axis, n in enumerate(shape)]
    known = [row for row in rows if row is not None]
    return known if len(known) == len(rows) else None


def _split(sizes: Sequence[int], inner: int, extent: int) -> list[int] | None:
    """What the indices of dimensions `sizes` count for in a dimension of `extent` elements that has `inner` behind
    each of them; None if one of these dimensions reaches beyond it."""
    row, step = [0] * len(sizes), 1
    for axis in reversed(range(len(sizes))):
        size = sizes[axis]
        if size > 1 and inner <= step < inner * extent:
            row[axis] = step // inner
            if step % inner or step * size > inner * extent:
                return None
        elif size > 1 and step < inner < step * size:
            return None
        step *= size
    return row


def _groups(shape: Sequence[int], sizes: Sequence[int]) -> Iterator[int]:
    """How many dimensions of `shape` at a time have as many elements as some of `sizes`."""
    remaining = list(sizes)
    place = 0
    while place < len(shape):
        count, have, want = 1, shape[place], remaining.pop(0) if remaining else 1
        while have != want:
            if have < want:
                have *= shape[place + count]
                count += 1
            else:
                want *= remaining.pop(0)
        yield count
        place += count


def _joined(a: Array, groups: Sequence[int], location: Location) -> Array:
    """As many dimensions at a time as `groups` says made one."""
    for place, count in enumerate(groups):
        for _ in range(count - 1):
            a = _pair_joined(a, place, location)
    return a


def _pair_joined(a: Array, place: int, location: Location) -> Array:
    """Dimension `place` and the next one made one: index i of it stands for ``i // n`` and ``i % n``."""
    columns = a.shape[place + 1]
    whole = stretch(a, [columns if i == place else 1 for i in range(a.ndim)])
    shape = (*a.shape[:place], a.shape[place] * columns, *a.shape[place + 2:])
    identity = np.eye(len(shape), dtype=int).tolist()
    rows = [*identity[: place + 1], identity[place], *identity[place + 1:]]
    boundaries = [WRAP if i == place + 1 else None for i in range(a.ndim)]
    matrix = tuple(tuple(row) for row in rows)
    return Array(bounded_view(whole.expression, shape, matrix, (0,) * a.ndim, boundaries, location))
