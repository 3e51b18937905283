"""Functions on parallel arrays, with numpy's names where numpy has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from compiler.frontend.parallel_array.array import Array, ArrayLike, apply, as_array
from compiler.frontend.parallel_array.element_types import BOOL, FLOATS, bounds
from compiler.frontend.parallel_array.expression import WRAP, Assembly, Boundary, Place, Scatter, Stretch, Take
from compiler.frontend.parallel_array.location import here
from compiler.frontend.parallel_array.views import broadcast, shifted, windows

__all__ = ["abs_difference", "absolute", "assembled", "broadcast_to", "clip", "fma", "interleave", "maximum", "minimum",
           "multiply_high", "rotate", "scattered", "select", "shift", "sliding_window_view", "stretch", "take",
           "transpose", "where"]


def minimum(a: ArrayLike, b: ArrayLike) -> Array:
    """The smaller of each pair of elements."""
    return apply("minimum", a, b)


def maximum(a: ArrayLike, b: ArrayLike) -> Array:
    """The larger of each pair of elements."""
    return apply("maximum", a, b)


def absolute(a: ArrayLike) -> Array:
    """Absolute values; the least number of a signed type stays itself, as in numpy."""
    return abs(as_array(a))


def abs_difference(a: ArrayLike, b: ArrayLike) -> Array:
    """The exact \\|a - b\\| of each pair, in their common type (it wraps only where a signed type cannot hold it).

    Numpy's ``abs(a - b)`` wraps in the subtraction already.
    """
    return apply("abs_difference", a, b)


def multiply_high(a: ArrayLike, b: ArrayLike) -> Array:
    """The upper 32 of the 64 bits of the product of each pair of int32 or of uint32.

    Raises `ArrayError` for other types: the whole product of narrower numbers fits 32 bits.
    """
    product = apply("multiply_high", a, b)
    if product.dtype.itemsize != 4:
        raise here().error(f"multiply_high takes int32 or uint32, not {product.dtype}: use astype and multiply")
    return product


def fma(a: ArrayLike, b: ArrayLike, c: ArrayLike) -> Array:
    """``a * b + c`` of floating-point numbers, rounded once; ``a * b + c`` itself rounds the product, too.

    Raises `ArrayError` for integers, whose products and sums are exact up to wrapping.
    """
    total = apply("fma", a, b, c)
    if total.dtype not in FLOATS:
        raise here().error(f"fma takes float32 or bfloat16, not {total.dtype}: write a * b + c")
    return total


def where(condition: ArrayLike, a: ArrayLike, b: ArrayLike) -> Array:
    """Elements of `a` where `condition` is not 0, else of `b`."""
    return apply("where", condition, a, b, select=True)


select = where


def clip(a: ArrayLike, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
    """Elements limited to `min`..`max`."""
    return as_array(a).clip(min, max)


def transpose(a: ArrayLike, axes: Sequence[int] = ()) -> Array:
    """Dimensions in the order of `axes` (reversed if none are given)."""
    return as_array(a).transpose(*axes)


def broadcast_to(a: ArrayLike, shape: Sequence[int]) -> Array:
    """`a` repeated to fill `shape`."""
    location = here()
    return Array(broadcast(as_array(a, location).expression, tuple(shape), location))


def shift(a: Array, amounts: int | Sequence[int], boundary: Boundary | Sequence[Boundary]) -> Array:
    """Elements moved by `amounts` towards higher indices (one number, or one per dimension). `boundary` says what
    comes in at the edges: `WRAP`, `CLAMP` or ``default(value)``, one or one per dimension."""
    return Array(shifted(a.expression, amounts, boundary, here()))


def rotate(a: Array, amounts: int | Sequence[int]) -> Array:
    """Elements moved by `amounts`; what leaves comes in on the other side."""
    return Array(shifted(a.expression, amounts, WRAP, here()))


def stretch(a: Array, factors: int | Sequence[int]) -> Array:
    """Every element repeated `factors` times (one number, or one per dimension)."""
    location = here()
    each = (factors,) * a.ndim if isinstance(factors, int | np.integer) else tuple(factors)
    if len(each) != a.ndim or any(f < 1 for f in each):
        raise location.error(f"factors {each} do not fit an array of {a.ndim} dimensions: one of at least 1 for each")
    if all(f == 1 for f in each):
        return a
    shape = tuple(n * f for n, f in zip(a.shape, each, strict=True))
    return Array(Stretch(shape, a.dtype, location, a.expression, tuple(int(f) for f in each)))


def take(a: ArrayLike, indices: ArrayLike | Sequence[int], axis: int | None = None, mode: str = "raise") -> Array:
    """Entries of the 1-D array `a` at `indices`, in the shape of these; ``a[indices]`` is the same.

    Indices count from the end if they are negative and have to lie in the table: the compiler proves it. With `mode`
    "clip" those outside mean the nearest entry (negative ones the first), with "wrap" they are taken modulo the length.
    """
    location = here()
    table, index = as_array(a, location), as_array(_as_words(indices), location)
    if table.ndim != 1 or axis not in (None, 0, -1):
        raise location.error(f"unsupported operation: a table has one dimension, not shape {table.shape}"
                             f"{'' if axis in (None, 0, -1) else f' along axis {axis}'}")
    if index.dtype == BOOL:
        raise location.error("unsupported operation: how many elements a condition selects is not known; where() "
                             "chooses between elements, and indices are integers")
    if mode not in _INDEX_MODES:
        raise location.error(f"there is no mode '{mode}' of take(): {', '.join(_INDEX_MODES)}")
    inside = _INDEX_MODES[mode](index, len(table))
    return Array(Take(inside.shape, table.dtype, location, table.expression, inside.expression, mode != "raise"))


def scattered(base: Array, index: Array, value: Array, adds: bool = False) -> Array:
    """The 1-D array `base` in which element ``index[i]``, for every i in row-major order, becomes ``value[i]``, or with
    `adds` is increased by it (it wraps). Indices outside `base` do nothing."""
    shaped = broadcast_to(value, index.shape).astype(base.dtype)
    return Array(Scatter(base.shape, base.dtype, here(), base.expression, index.expression, shaped.expression, adds))


def _as_words(indices: ArrayLike | Sequence[int]) -> ArrayLike:
    """Numpy's indices have 64 bits."""
    if isinstance(indices, Array | int):
        return indices
    known = np.asarray(indices)
    return known.clip(-1 << 31, (1 << 31) - 1).astype(np.int32) if known.dtype.kind in "iu" else known


def _clipped(index: Array, length: int) -> Array:
    return index.clip(0, min(length - 1, bounds(index.dtype)[1]))


def _modulo(index: Array, length: int) -> Array:
    """In a type that holds the length, if there are negative indices: others are below it where it is none."""
    low, high = bounds(index.dtype)
    if length > high:
        return index if low == 0 else index.astype(np.int32) % length
    return index % length


_INDEX_MODES: dict[str, Callable[[Array, int], Array]] = {"raise": lambda index, _: index, "clip": _clipped,
                                                          "wrap": _modulo}


def assembled(shape: tuple[int, ...], parts: Sequence[tuple[Array, Place]]) -> Array:
    """An array of `shape` made of parts of one type; see `Assembly`, whose condition is the caller's to keep."""
    arrays = [array for array, _ in parts]
    return Array(Assembly(shape, arrays[0].dtype, here(), tuple(a.expression for a in arrays),
                          tuple(place for _, place in parts)))


def interleave(parts: Sequence[Array], axis: int = 0) -> Array:
    """Arrays of one shape and type in turn along `axis`: element i of the result is element i // n of part i % n."""
    location = here()
    if len({(p.shape, p.dtype) for p in parts}) != 1 or not -parts[0].ndim <= axis < parts[0].ndim:
        shapes = ", ".join(f"{p.shape} {p.dtype}" for p in parts)
        raise location.error(f"{shapes} cannot be interleaved along axis {axis}: one shape and type, and an axis of it")
    first, place = parts[0], axis % parts[0].ndim
    shape = tuple(n * len(parts) if i == place else n for i, n in enumerate(first.shape))
    count, rank = len(parts), first.ndim
    steps = tuple(count if d == place else 1 for d in range(rank))
    places = tuple(Place(tuple(i if d == place else 0 for d in range(rank)), steps) for i in range(count))
    return assembled(shape, list(zip(parts, places, strict=True)))


def sliding_window_view(a: Array, window_shape: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Array:
    """Windows at every place where they fit, as numpy's function of this name."""
    location = here()
    shape = (window_shape,) if isinstance(window_shape, int | np.integer) else tuple(window_shape)
    if axis is None:
        axes = tuple(range(a.ndim))
    else:
        axes = tuple(x % a.ndim for x in ((axis,) if isinstance(axis, int | np.integer) else axis))
    if len(axes) != len(shape):
        raise location.error(f"a window of {len(shape)} dimensions cannot slide along {len(axes)} axes")
    return Array(windows(a.expression, shape, axes, location))
