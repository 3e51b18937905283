"""Numpy's functions that count, search, and combine elements from the first one on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from compiler.frontend.parallel_array.array import Array, ArrayLike, array_constant, as_array, reduce
from compiler.frontend.parallel_array.element_types import FLOATS, element_type, sum_type
from compiler.frontend.parallel_array.expression import Place, Scan
from compiler.frontend.parallel_array.functions import assembled, maximum, minimum, where
from compiler.frontend.parallel_array.location import here
from compiler.frontend.parallel_array.rearranging import concatenate, swapaxes
from compiler.frontend.parallel_array.reshaping import ravel

__all__ = ["accumulate", "argmax", "argmin", "count_nonzero", "cumsum", "mean", "prod", "ptp", "sort"]

_MOST_FACTORS = 64
"""Of a product of floating-point numbers, which are multiplied one after the other."""
_MOST_SORTED = 64


def argmax(a: ArrayLike, axis: int | None = None, keepdims: bool = False) -> Array:
    """The index (int32) of the first greatest element along `axis`, without one in row-major order of all."""
    return _place_of(as_array(a), "maximum", axis, keepdims)


def argmin(a: ArrayLike, axis: int | None = None, keepdims: bool = False) -> Array:
    """The index (int32) of the first least element along `axis`, without one in row-major order of all."""
    return _place_of(as_array(a), "minimum", axis, keepdims)


def _place_of(a: Array, operation: str, axis: int | None, keepdims: bool) -> Array:
    extreme = reduce(operation, a, axis, True)
    count = a.size if axis is None else a.shape[axis]
    shape = a.shape if axis is None else [count if i == axis % a.ndim else 1 for i in range(a.ndim)]
    places = array_constant(np.arange(count, dtype=np.int32).reshape(shape))
    return where(a == extreme, places, count - 1).min(axis=axis, keepdims=keepdims)


def count_nonzero(a: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """How many elements along `axis` are not 0, in int32."""
    return (as_array(a) != 0).sum(axis=axis, dtype=np.int32, keepdims=keepdims)


def ptp(a: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Greatest less least element along `axis`, wrapping."""
    x = as_array(a)
    return x.max(axis=axis, keepdims=keepdims) - x.min(axis=axis, keepdims=keepdims)


def mean(a: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Mean of floating-point numbers along `axis`: their sum, from the first to the last, divided once."""
    x = as_array(a)
    if x.dtype not in FLOATS:
        raise here().error(f"unsupported operation: the mean of {x.dtype} is a fraction: sum(axis) // count rounds it "
                           "down, astype('float32') keeps it")
    total = x.sum(axis=axis, keepdims=keepdims)
    return total / (x.size // total.size)


def prod(a: ArrayLike, axis: int | None = None, dtype: Any = None) -> Array:
    """Product of the elements along `axis`, in 32 bits or in `dtype`, wrapping."""
    location = here()
    x = as_array(a)
    kind = sum_type(x.dtype) if dtype is None else element_type(dtype, location)
    moved = ravel(x) if axis is None else swapaxes(x, axis, -1)
    factors = moved.astype(kind)
    if kind in FLOATS and factors.shape[-1] > _MOST_FACTORS:
        raise location.error(f"unsupported operation: a product of {factors.shape[-1]} {kind} in order, of which "
                             f"{_MOST_FACTORS} are possible")
    product = _chained(factors) if kind in FLOATS else _halved(factors)
    return product if axis is None else swapaxes(product[..., None], axis, -1)[_without(axis, x.ndim)]


def _without(axis: int, ndim: int) -> tuple[Any, ...]:
    return tuple(0 if i == axis % ndim else slice(None) for i in range(ndim))


def _chained(factors: Array) -> Array:
    result = factors[..., 0]
    for place in range(1, factors.shape[-1]):
        result = result * factors[..., place]
    return result


def _halved(factors: Array) -> Array:
    """Products that wrap may be grouped as one likes."""
    while (count := factors.shape[-1]) > 1:
        half = count // 2
        pairs = factors[..., :half] * factors[..., half: 2 * half]
        factors = concatenate([pairs, factors[..., -1:]], -1) if count % 2 else pairs
    return factors[..., 0]


def cumsum(a: ArrayLike, axis: int | None = None, dtype: Any = None) -> Array:
    """Sums of all elements up to each one along `axis`, in 32 bits or in `dtype`, wrapping."""
    x = as_array(a)
    kind = sum_type(x.dtype) if dtype is None else element_type(dtype, here())
    return accumulate("add", ravel(x).astype(kind) if axis is None else x.astype(kind), 0 if axis is None else axis)


def accumulate(operation: str, a: Array, axis: int = 0) -> Array:
    """`operation` ("add", "minimum", "maximum") of all elements up to each one along `axis`, in the type of `a`."""
    location = here()
    if operation not in ("add", "minimum", "maximum"):
        raise location.error(f"unsupported operation: {operation}.accumulate; there are add, minimum, maximum")
    if not -a.ndim <= axis < a.ndim:
        raise location.error(f"there is no axis {axis} in an array of {a.ndim} dimensions")
    moved = swapaxes(a, axis, -1)
    return swapaxes(Array(Scan(moved.shape, a.dtype, location, operation, moved.expression)), axis, -1)


def sort(a: ArrayLike, axis: int = -1) -> Array:
    """Elements in ascending order along `axis`, of up to 64 elements: Batcher's network of minima and maxima
    (Batcher 1968)."""
    x = as_array(a)
    moved = swapaxes(x, axis, -1)
    count = moved.shape[-1]
    if count > _MOST_SORTED:
        raise here().error(f"unsupported operation: {count} elements are sorted side by side, of which {_MOST_SORTED} "
                           "are possible; a loop nest in C sorts more")
    columns = [moved[..., i] for i in range(count)]
    for low, high in _comparisons(count):
        columns[low], columns[high] = minimum(columns[low], columns[high]), maximum(columns[low], columns[high])
    steps, lead = (1,) * moved.ndim, (0,) * (moved.ndim - 1)
    parts = [(column[..., None], Place((*lead, i), steps)) for i, column in enumerate(columns)]
    return swapaxes(assembled(moved.shape, parts), axis, -1)


def _comparisons(count: int) -> Iterator[tuple[int, int]]:
    """Places that an odd-even merge sort of `count` elements compares, in its order."""
    width = 1
    while width < count:
        step = width
        while step:
            for start in range(step % width, count - step, 2 * step):
                for low in range(start, min(start + step, count - step)):
                    if low // (2 * width) == (low + step) // (2 * width):
                        yield low, low + step
            step //= 2
        width *= 2
