"""Views: transforms of memory as affine maps of indices, checked against the shapes they apply to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.frontend.parallel_array.element_types import FLOATS, fit_scalar
from compiler.frontend.parallel_array.expression import WRAP, Boundary, Expression, Matrix, View
from compiler.frontend.parallel_array.location import Location

__all__ = ["MOST_DIMENSIONS", "bounded_view", "broadcast", "broadcast_shape", "index_range", "permuted",
           "section_of", "shifted", "sliced", "viewed", "windows"]

MOST_DIMENSIONS = 6
"""Of arrays."""


def index_range(row: tuple[int, ...], offset: int, shape: tuple[int, ...]) -> tuple[int, int]:
    """Least and greatest value of ``row . i + offset`` for indices i inside `shape`."""
    low = offset + sum(c * (n - 1) for c, n in zip(row, shape, strict=True) if c < 0)
    high = offset + sum(c * (n - 1) for c, n in zip(row, shape, strict=True) if c > 0)
    return low, high


def _unit(position: int | None, size: int, factor: int = 1) -> tuple[int, ...]:
    return tuple(factor * (position == i) for i in range(size))


def bounded_view(source: Expression, shape: tuple[int, ...], matrix: Matrix, offset: Sequence[int],
                 boundaries: Sequence[Boundary | None], location: Location) -> Expression:
    """A view whose indices are inside the source or have a boundary, each dimension of the source its own."""
    if len(shape) > MOST_DIMENSIONS or any(n < 1 for n in shape):
        raise location.error(f"unsupported shape {shape}: views have at most {MOST_DIMENSIONS} dimensions of at least "
                             "one element")
    kept: list[Boundary | None] = []
    for axis, (row, first, boundary) in enumerate(zip(matrix, offset, boundaries, strict=True)):
        low, high = index_range(row, first, shape)
        inside = low >= 0 and high < source.shape[axis]
        if not inside and boundary is None:
            outside = low if low < 0 else high
            raise location.error(f"index {outside} is outside dimension {axis} of shape {source.shape}")
        if boundary is not None and boundary.kind == "default":
            fit_scalar(boundary.value, source.dtype, location)
            if source.dtype in FLOATS and boundary.value:
                raise location.error(f"unsupported operation: outside an array of {source.dtype} there is 0, not "
                                     f"{boundary.value}; where() puts other numbers there")
        kept.append(None if inside else boundary)
    return View(shape, source.dtype, location, source, matrix, tuple(offset), tuple(kept))


def broadcast_shape(shapes: Sequence[tuple[int, ...]], location: Location) -> tuple[int, ...]:
    """Numpy's common shape. Raises `ArrayError`."""
    try:
        return tuple(int(n) for n in np.broadcast_shapes(*shapes))
    except ValueError:
        text = " and ".join(str(shape) for shape in shapes if shape)
        raise location.error(f"shapes {text} do not fit") from None


def broadcast(source: Expression, shape: tuple[int, ...], location: Location) -> Expression:
    """`source` with `shape`: new dimensions in front, dimensions of one element repeated."""
    if source.shape == shape:
        return source
    if broadcast_shape([source.shape, shape], location) != shape:
        raise location.error(f"shape {source.shape} cannot be broadcast to {shape}")
    lead = len(shape) - len(source.shape)
    matrix = tuple(_unit(lead + i if n > 1 else None, len(shape)) for i, n in enumerate(source.shape))
    n = len(source.shape)
    return bounded_view(source, shape, matrix, (0,) * n, (None,) * n, location)


def permuted(source: Expression, axes: Sequence[int], location: Location) -> Expression:
    """Dimensions in another order."""
    n = len(source.shape)
    if sorted(a % n if -n <= a < n else -1 for a in axes) != list(range(n)):
        raise location.error(f"axes {tuple(axes)} are no order of the {n} dimensions of shape {source.shape}")
    order = [a % n for a in axes]
    if order == list(range(n)):
        return source
    matrix = tuple(_unit(order.index(i), n) for i in range(n))
    return bounded_view(source, tuple(source.shape[a] for a in order), matrix, (0,) * n, (None,) * n, location)


def sliced(source: Expression, index: Any, location: Location) -> Expression:
    """Basic numpy indexing."""
    items = _expand(index if isinstance(index, tuple) else (index,), len(source.shape), location)
    shape: list[int] = []
    taken: list[tuple[int | None, int, int]] = []  # per source dimension: position in the result, factor, offset
    axis = 0
    for item in items:
        if item is None:
            shape.append(1)
            continue
        size = source.shape[axis]
        axis += 1
        if isinstance(item, slice):
            start, count, step = _slice(item, size, location)
            taken.append((len(shape), step, start))
            shape.append(count)
        else:
            taken.append((None, 0, _position(item, size, location)))
    matrix = tuple(_unit(position, len(shape), factor) for position, factor, _ in taken)
    return bounded_view(source, tuple(shape), matrix, [o for *_, o in taken], (None,) * len(taken), location)


def _expand(index: tuple[Any, ...], ndim: int, location: Location) -> list[Any]:
    """`index` with ``...`` and missing dimensions spelled out."""
    for item in index:
        plain = item is None or item is Ellipsis or isinstance(item, slice | int | np.integer)
        if not plain or isinstance(item, bool):
            raise location.error(f"unsupported index {item!r}: integers, slices, ... and None are possible")
    used = sum(item is not None and item is not Ellipsis for item in index)
    if used > ndim or sum(item is Ellipsis for item in index) > 1:
        raise location.error(f"too many indices for an array of {ndim} dimensions")
    items = list(index) if Ellipsis in index else [*index, Ellipsis]
    place = items.index(Ellipsis)
    return [*items[:place], *[slice(None)] * (ndim - used), *items[place + 1:]]


def _slice(item: slice, size: int, location: Location) -> tuple[int, int, int]:
    if item.step == 0:
        raise location.error("the step of a section must not be 0")
    start, stop, step = item.indices(size)
    count = len(range(start, stop, step))
    if count == 0:
        raise location.error(f"the section {start}:{stop}:{step} of {size} elements is empty")
    return start, count, step if count > 1 else 1


def _position(item: int, size: int, location: Location) -> int:
    if not -size <= item < size:
        raise location.error(f"index {item} is outside a dimension of {size} elements")
    return int(item) % size


def _per_axis(value: Any, ndim: int, what: str, location: Location) -> tuple[Any, ...]:
    single = not isinstance(value, Sequence)
    values = (value,) * ndim if single else tuple(value)
    if len(values) != ndim:
        raise location.error(f"{what} has {len(values)} entries for an array of {ndim} dimensions")
    return values


def section_of(source: Expression, starts: Any, shape: Any, steps: Any, boundary: Any,
               location: Location) -> Expression:
    """`shape` elements from `starts` on, every `steps`-th."""
    n = len(source.shape)
    first, sizes, strides = (_per_axis(v, n, what, location)
                             for v, what in ((starts, "starts"), (shape, "shape"), (steps, "steps")))
    matrix = tuple(_unit(i, n, stride) for i, stride in enumerate(strides))
    return bounded_view(source, tuple(sizes), matrix, first, _per_axis(boundary, n, "boundary", location), location)


def shifted(source: Expression, amounts: Any, boundary: Any, location: Location) -> Expression:
    """Elements moved by `amounts` towards higher indices."""
    n = len(source.shape)
    offsets = [-int(a) for a in _per_axis(amounts, n, "the shift", location)]
    limits = _per_axis(boundary, n, "boundary", location)
    offsets = [o % size if limit == WRAP else o for o, limit, size in zip(offsets, limits, source.shape, strict=True)]
    return section_of(source, offsets, source.shape, 1, limits, location)


def viewed(source: Expression, shape: tuple[int, ...], matrix: Matrix, offset: Sequence[int],
           boundary: Boundary | None, location: Location) -> Expression:
    """Element i is the source's element ``matrix @ i + offset``; `boundary` is for those that do not exist."""
    return bounded_view(source, shape, matrix, offset, (boundary,) * len(source.shape), location)


def windows(source: Expression, shape: tuple[int, ...], axes: tuple[int, ...], location: Location) -> Expression:
    """Windows of `shape` along `axes`, at every place where they fit; the window's dimensions come last."""
    n, extra = len(source.shape), len(axes)
    sizes = list(source.shape)
    for axis, length in zip(axes, shape, strict=True):
        if not 1 <= length <= sizes[axis]:
            raise location.error(f"a window of {length} does not fit dimension {axis} of shape {source.shape}")
        sizes[axis] -= length - 1
    matrix = []
    for i in range(n):
        row = list(_unit(i, n + extra))
        for k, axis in enumerate(axes):
            row[n + k] = int(axis == i)
        matrix.append(tuple(row))
    return bounded_view(source, (*sizes, *shape), tuple(matrix), (0,) * n, (None,) * n, location)
