"""Numpy's functions that put arrays together, and take them apart, as sections and selections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.frontend.parallel_array.array import Array, ArrayLike, array_constant, as_array
from compiler.frontend.parallel_array.element_types import element_type
from compiler.frontend.parallel_array.expression import CLAMP, WRAP, Boundary, default
from compiler.frontend.parallel_array.functions import dot, rotate, stretch, where
from compiler.frontend.parallel_array.location import Location, here

__all__ = ["arange", "concatenate", "diff", "flip", "full", "inner", "ones", "outer", "pad", "repeat", "roll", "square",
           "stack", "swapaxes", "tile", "zeros"]

_MODES: dict[str, Boundary] = {"edge": CLAMP, "wrap": WRAP}


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
    """Elements moved by `shift` along `axis`; what leaves comes in on the other side."""
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
    edge ("edge"), or those of the other end ("wrap")."""
    if mode not in ("constant", *_MODES):
        raise here().error(f"there is no padding '{mode}'; there are: constant, edge, wrap")
    widths = [(width, width)] * a.ndim if isinstance(width, int | np.integer) else [tuple(w) for w in width]
    if len(widths) != a.ndim or any(len(w) != 2 or min(w) < 0 for w in widths):
        raise here().error(f"widths {widths} do not fit an array of {a.ndim} dimensions: a pair of at least 0 for each")
    shape = [n + before + after for n, (before, after) in zip(a.shape, widths, strict=True)]
    return a.section([-before for before, _ in widths], shape, 1, _MODES.get(mode, default(constant_values)))


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


# Arithmetic.


def square(a: Array) -> Array:
    """Squares, wrapping."""
    return a * a


def diff(a: Array, axis: int = -1) -> Array:
    """Differences of neighbours along `axis`."""
    place = _axis(axis, a.ndim, here())
    if a.shape[place] < 2:
        raise here().error(f"there are no neighbours along axis {axis} of shape {a.shape}")
    later, earlier = (tuple(part if i == place else slice(None) for i in range(a.ndim))
                      for part in (slice(1, None), slice(None, -1)))
    return a[later] - a[earlier]


def outer(a: Array, b: Array) -> Array:
    """Products of every element of one 1-D array with every one of the other."""
    if a.ndim != 1 or b.ndim != 1:
        raise here().error(f"an outer product of shapes {a.shape} and {b.shape} is unsupported: 1-D only")
    return a[:, None] * b[None, :]


def inner(a: Array, b: Array) -> Array:
    """Inner product of 1-D arrays."""
    if a.ndim != 1 or b.ndim != 1:
        raise here().error(f"an inner product of shapes {a.shape} and {b.shape} is unsupported: 1-D only")
    return dot(a, b)
