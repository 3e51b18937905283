"""Numpy's functions that put arrays together, and take them apart, as sections and selections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.frontend.parallel_array.array import Array, ArrayLike, array_constant, as_array
from compiler.frontend.parallel_array.element_types import element_type
from compiler.frontend.parallel_array.expression import CLAMP, WRAP, Boundary, Expression, View, default
from compiler.frontend.parallel_array.functions import rotate, stretch, where
from compiler.frontend.parallel_array.location import Location, here
from compiler.frontend.parallel_array.views import bounded_view, broadcast, sliced, viewed

__all__ = ["arange", "concatenate", "diagonal", "diff", "flip", "full", "ones", "pad", "repeat", "roll", "square",
           "stack", "swapaxes", "tile", "tril", "triu",
           "with_section", "zeros"]

_MODES: dict[str, Boundary] = {"edge": CLAMP, "wrap": WRAP}
_MIRRORS = ("reflect", "symmetric")


def _axis(axis: int, ndim: int, location: Location) -> int:
    if not -ndim <= axis < ndim:
        raise location.error(f"there is no axis {axis} in an array of {ndim} dimensions")
    return axis % ndim


def _axes(axis: int | Sequence[int] | None, ndim: int, location: Location) -> tuple[int, ...]:
    wanted = range(ndim) if axis is None else (axis,) if isinstance(axis, int | np.integer) else axis
    return tuple(_axis(a, ndim, location) for a in wanted)


# Constants.


def full(shape: int | Sequence[int], value: int, dtype: Any = "int32") -> Array:
    """An array of equal numbers."""
    return array_constant(np.full(shape, value, element_type(dtype, here())))


def zeros(shape: int | Sequence[int], dtype: Any = "int32") -> Array:
    """An array of zeros."""
    return full(shape, 0, dtype)


def ones(shape: int | Sequence[int], dtype: Any = "int32") -> Array:
    """An array of ones."""
    return full(shape, 1, dtype)


def arange(start: int, stop: int | None = None, step: int = 1, dtype: Any = "int32") -> Array:
    """Numbers from `start` up to, but without, `stop`; from 0 on, if only one is given."""
    first, end = (0, start) if stop is None else (start, stop)
    values = np.arange(first, end, step)
    if not len(values):
        raise here().error(f"there are no numbers from {first} to {end} in steps of {step}")
    return array_constant(values.astype(element_type(dtype, here())))


# Moving.


def flip(a: Array, axis: int | Sequence[int] | None = None) -> Array:
    """Elements in reverse order along `axis` (all axes by default)."""
    axes = _axes(axis, a.ndim, here())
    return a[tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(a.ndim))]


def _along(axis: Any, a: Array, location: Location) -> Any:
    """`axis`, which numpy's functions need not be given for arrays of one dimension."""
    if axis is None and a.ndim != 1:
        raise location.error(f"unsupported operation: without an axis, {a.ndim} dimensions would become one")
    return 0 if axis is None else axis


def roll(a: Array, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Array:
    """Elements moved by `shift` along `axis`, or without one in row-major order; what leaves comes in on the other
    side."""
    if axis is None and a.ndim > 1:
        return roll(a.reshape(-1), shift).reshape(a.shape)
    axis = _along(axis, a, here())
    axes = _axes(axis, a.ndim, here())
    shifts = (shift,) * len(axes) if isinstance(shift, int | np.integer) else tuple(shift)
    if len(shifts) != len(axes):
        raise here().error(f"{len(shifts)} shifts do not fit {len(axes)} axes")
    amounts = [0] * a.ndim
    for place, amount in zip(axes, shifts, strict=True):
        amounts[place] += int(amount)
    return rotate(a, amounts)


def swapaxes(a: Array, first: int, second: int) -> Array:
    """Two dimensions exchanged."""
    x, y = _axes((first, second), a.ndim, here())
    order = list(range(a.ndim))
    order[x], order[y] = order[y], order[x]
    return a.transpose(*order)


def repeat(a: Array, repeats: int, axis: int | None = None) -> Array:
    """Every element `repeats` times along `axis`."""
    place = _axis(_along(axis, a, here()), a.ndim, here())
    return stretch(a, tuple(repeats if i == place else 1 for i in range(a.ndim)))


def tile(a: Array, repetitions: int | Sequence[int]) -> Array:
    """The array again and again, `repetitions` per dimension (one number: along the last)."""
    each = [repetitions] if isinstance(repetitions, int | np.integer) else list(repetitions)
    counts = [1] * (a.ndim - len(each)) + each
    if len(counts) != a.ndim or min(counts) < 1:
        raise here().error(f"repetitions {tuple(each)} do not fit an array of {a.ndim} dimensions")
    return a.section([0] * a.ndim, [n * c for n, c in zip(a.shape, counts, strict=True)], 1, WRAP)


def pad(a: Array, width: int | Sequence[Sequence[int]], mode: str = "constant", constant_values: int = 0) -> Array:
    """`width` elements more at every end, or a pair (before, after) per dimension: a number ("constant"), those at the
    edge ("edge"), those of the other end ("wrap"), or those inside in reverse, from the edge on ("symmetric") or from
    its neighbour on ("reflect")."""
    if mode not in ("constant", *_MODES, *_MIRRORS):
        raise here().error(f"there is no padding '{mode}'; there are: constant, edge, wrap, reflect, symmetric")
    widths = _widths(width, a.ndim)
    if len(widths) != a.ndim or any(len(w) != 2 or min(w) < 0 for w in widths):
        raise here().error(f"widths {widths} do not fit an array of {a.ndim} dimensions: a pair of at least 0 for each")
    if mode in _MIRRORS:
        for axis, pair in enumerate(widths):
            a = _mirrored(a, axis, pair, mode)
        return a
    shape = [n + before + after for n, (before, after) in zip(a.shape, widths, strict=True)]
    return a.section([-before for before, _ in widths], shape, 1, _MODES.get(mode, default(constant_values)))


def _widths(width: Any, rank: int) -> list[tuple[int, ...]]:
    """A pair for each dimension, as numpy reads one number, one pair for all, or pairs."""
    if isinstance(width, int | np.integer):
        return [(int(width), int(width))] * rank
    pairs = list(width)
    if len(pairs) == 2 and all(isinstance(n, int | np.integer) for n in pairs):
        pairs = [pairs]
    pairs = [tuple(pair) for pair in pairs]
    return pairs * rank if len(pairs) == 1 else pairs


def _mirrored(a: Array, axis: int, width: Sequence[int], mode: Any) -> Array:
    """Sections forward and backward, one after the other along `axis`."""
    places = np.pad(np.arange(a.shape[axis]), tuple(width), mode)
    runs: list[list[int]] = []
    for place in places.tolist():
        run = runs[-1] if runs else []
        step = place - run[-1] if run else 0
        if abs(step) == 1 and (len(run) == 1 or step == run[-1] - run[-2]):
            run.append(place)
        else:
            runs.append([place])
    return concatenate([a[(slice(None),) * axis + (_run_slice(run),)] for run in runs], axis)


def _run_slice(run: Sequence[int]) -> slice:
    step = run[1] - run[0] if len(run) > 1 else 1
    end = run[-1] + step
    return slice(run[0], end if end >= 0 else None, step)


# Parts of matrices.


def diagonal(a: Array, offset: int = 0) -> Array:
    """The elements ``a[i, i + offset]`` of a matrix."""
    location = here()
    if a.ndim != 2:
        raise location.error(f"unsupported operation: the diagonal of an array of {a.ndim} dimensions")
    first = (max(-offset, 0), max(offset, 0))
    count = min(size - start for size, start in zip(a.shape, first, strict=True))
    if count < 1:
        raise location.error(f"a matrix of shape {a.shape} has no diagonal {offset}")
    return Array(viewed(a.expression, (count,), ((1,), (1,)), first, None, location))


def tril(a: Array, k: int = 0) -> Array:
    """Matrices (the last two dimensions) with 0 above diagonal `k`."""
    return _triangle(a, 1, k)


def triu(a: Array, k: int = 0) -> Array:
    """Matrices (the last two dimensions) with 0 below diagonal `k`."""
    return _triangle(a, -1, -k)


def _triangle(a: Array, sign: int, k: int) -> Array:
    """`a` where ``sign * (row - column) + k`` is not negative: an index of a dimension that repeats `a`."""
    location = here()
    if a.ndim < 2:
        raise location.error(f"unsupported operation: a triangle of an array of {a.ndim} dimensions")
    rows, columns = a.shape[-2:]
    copies = broadcast(a.expression, (max(1, rows + columns + abs(k)), *a.shape), location)
    identity = np.eye(a.ndim, dtype=int).tolist()
    across = [0] * (a.ndim - 2) + [sign, -sign]
    matrix = tuple(tuple(row) for row in [across, *identity])
    boundaries = (default(0), *[None] * a.ndim)
    offsets = (k, *[0] * a.ndim)
    return Array(bounded_view(copies, a.shape, matrix, offsets, boundaries, location))


# Putting together.


def concatenate(parts: Sequence[ArrayLike], axis: int = 0) -> Array:
    """Arrays one after the other along `axis`."""
    location = here()
    arrays = [as_array(p, location) for p in parts]
    shapes = [a.shape for a in arrays]
    place = _axis(axis, arrays[0].ndim, location) if arrays and arrays[0].ndim else -1
    if place < 0 or len({(*s[:place], *s[place + 1:]) for s in shapes}) != 1 or len({len(s) for s in shapes}) != 1:
        raise location.error(f"arrays of shapes {', '.join(map(str, shapes)) or 'none'} cannot be concatenated")
    whole = sum(s[place] for s in shapes)
    result, start = None, 0
    for part in arrays:
        shape = [whole if i == place else n for i, n in enumerate(part.shape)]
        moved = part.section([-start if i == place else 0 for i in range(part.ndim)], shape, 1, default(0))
        behind = np.arange(whole).reshape([-1 if i == place else 1 for i in range(part.ndim)]) >= start
        result = moved if result is None else where(array_constant(behind), moved, result)
        start += part.shape[place]
    assert result is not None
    return result


def stack(parts: Sequence[Array], axis: int = 0) -> Array:
    """Arrays of one shape along a new dimension."""
    location = here()
    place = _axis(axis, parts[0].ndim + 1, location) if parts else 0
    index = tuple(None if i == place else slice(None) for i in range(parts[0].ndim + 1)) if parts else ()
    return concatenate([p[index] for p in parts], place)


def with_section(a: Array, index: Any, value: Array) -> Array:
    """`a` with the elements of `value`, which is broadcast and converted, at an index of integers and slices."""
    location = here()
    section = sliced(a.expression, index, location)
    if not isinstance(section, View):
        return Array(broadcast(value.astype(a.dtype).expression, a.shape, location))
    new = broadcast(value.astype(a.dtype).expression, section.shape, location)
    if any(abs(step) > 1 for row in section.matrix for step in row):
        return _with_steps(a, section, Array(new))
    fixed = [axis for axis, row in enumerate(section.matrix) if not any(row)]
    new = broadcast(new, ((1,) * len(fixed) + new.shape), location)
    rows, offsets = _placed(section, fixed)

    def moved(source: Expression) -> Array:
        outside = (default(0),) * len(rows)
        return Array(bounded_view(source, a.shape, tuple(map(tuple, rows)), offsets, outside, location))

    return where(moved(array_constant(np.ones(new.shape, bool)).expression), moved(new), a)


def _with_steps(a: Array, section: View, value: Array) -> Array:
    """`a` with `value` at a section with steps: each element repeated up to the next one, where a place belongs to the
    section."""
    steps = [sum(row[place] for row in section.matrix) for place in range(value.ndim)]
    value = stretch(value[tuple(slice(None, None, -1 if step < 0 else 1) for step in steps)],
                    [max(abs(step), 1) for step in steps])
    rows = [[0] * a.ndim for _ in steps]
    offsets = [0] * len(steps)
    inside: Array = array_constant(np.array(True))
    for axis, (row, first) in enumerate(zip(section.matrix, section.offset, strict=True)):
        place = next((place for place, step in enumerate(row) if step), None)
        places = first + np.arange(1 if place is None else section.shape[place]) * sum(row)
        if place is not None:
            rows[place][axis], offsets[place] = 1, -int(places.min())
        member = np.isin(np.arange(a.shape[axis]), places)
        if not member.all():
            inside = inside & array_constant(member.reshape([-1 if i == axis else 1 for i in range(a.ndim)]))
    outside = (default(0),) * len(rows)
    moved = bounded_view(value.expression, a.shape, tuple(map(tuple, rows)), offsets, outside, here())
    return where(inside, Array(moved), a)


def _placed(section: View, fixed: Sequence[int]) -> tuple[list[list[int]], list[int]]:
    """Which element of a section an element of the whole is: a row and an offset for each dimension, those that have
    one index (`fixed`) first."""
    rank = len(section.matrix)
    rows = [[int(other == axis) for other in range(rank)] for axis in fixed]
    offsets = [-section.offset[axis] for axis in fixed]
    for place in range(len(section.shape)):
        rows.append([row[place] for row in section.matrix])
        offsets.append(-sum(row[place] * first for row, first in zip(section.matrix, section.offset, strict=True)))
    return rows, offsets


# Arithmetic.


def square(a: Array) -> Array:
    """Squares, wrapping."""
    return a * a


def diff(a: Array, n: int = 1, axis: int = -1) -> Array:
    """Differences of neighbours along `axis`, `n` times."""
    place = _axis(axis, a.ndim, here())
    if not 0 <= n < a.shape[place]:
        raise here().error(f"there are no differences of order {n} along axis {axis} of shape {a.shape}")
    if n == 0:
        return a
    later, earlier = (tuple(part if i == place else slice(None) for i in range(a.ndim))
                      for part in (slice(1, None), slice(None, -1)))
    return diff(a[later] - a[earlier], n - 1, place)
