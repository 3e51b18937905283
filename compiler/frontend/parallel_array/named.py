"""Numpy's names for operators, methods and attributes, and what numpy's own functions do with parallel arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from compiler.frontend.parallel_array.array import Array, ArrayLike, apply, array_constant, as_array, unsupported
from compiler.frontend.parallel_array.element_types import BOOL, element_type
from compiler.frontend.parallel_array.location import here
from compiler.frontend.parallel_array.views import viewed

__all__ = ["add", "all", "any", "bitwise_and", "bitwise_or", "bitwise_xor", "call_numpy", "equal", "expand_dims",
           "floor_divide", "full_like", "greater", "greater_equal", "invert", "left_shift", "less", "less_equal",
           "logical_and", "logical_not", "logical_or", "logical_xor", "max", "min", "multiply", "negative",
           "not_equal", "ones_like", "power", "ravel", "remainder", "reshape", "right_shift", "sign", "squeeze",
           "subtract", "sum", "zeros_like"]


def _operator(name: str, symbol: str) -> Callable[[ArrayLike, ArrayLike], Array]:
    def function(a: ArrayLike, b: ArrayLike) -> Array:
        return apply(name, a, b)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``a {symbol} b``."
    return function


add, subtract, multiply = _operator("add", "+"), _operator("subtract", "-"), _operator("multiply", "*")
floor_divide, remainder = _operator("floor_divide", "//"), _operator("remainder", "%")
bitwise_and, bitwise_or = _operator("bitwise_and", "&"), _operator("bitwise_or", "|")
bitwise_xor = _operator("bitwise_xor", "^")
left_shift, right_shift = _operator("left_shift", "<<"), _operator("right_shift", ">>")
equal, not_equal = _operator("equal", "=="), _operator("not_equal", "!=")
less, less_equal = _operator("less", "<"), _operator("less_equal", "<=")
greater, greater_equal = _operator("greater", ">"), _operator("greater_equal", ">=")


def negative(a: ArrayLike) -> Array:
    """``-a``, wrapping."""
    return -as_array(a)


def invert(a: ArrayLike) -> Array:
    """``~a``."""
    return ~as_array(a)


def sign(a: ArrayLike) -> Array:
    """-1, 0 or 1 in the type of `a`."""
    x = as_array(a)
    limited = x.clip(None, 1)
    return limited.clip(-1) if x.dtype.kind == "i" else limited


def power(a: ArrayLike, exponent: int) -> Array:
    """``a ** exponent`` for a number from 0 on, wrapping."""
    if isinstance(exponent, bool) or not isinstance(exponent, int | np.integer) or exponent < 0:
        raise here().error(f"unsupported operation: the exponent {exponent!r} is no number from 0 on")
    square, result, left = as_array(a), None, int(exponent)
    while left:
        if left & 1:
            result = square if result is None else result * square
        square, left = (square * square if left > 1 else square), left >> 1
    return ones_like(square) if result is None else result


def _truth(a: ArrayLike) -> Array:
    return as_array(a).astype(BOOL)


def logical_and(a: ArrayLike, b: ArrayLike) -> Array:
    """Whether neither element is 0."""
    return _truth(a) & _truth(b)


def logical_or(a: ArrayLike, b: ArrayLike) -> Array:
    """Whether not both elements are 0."""
    return _truth(a) | _truth(b)


def logical_xor(a: ArrayLike, b: ArrayLike) -> Array:
    """Whether one element is 0 and the other is not."""
    return _truth(a) ^ _truth(b)


def logical_not(a: ArrayLike) -> Array:
    """Whether the element is 0."""
    return ~_truth(a)


# Reductions.


def _reduction(name: str) -> Callable[..., Array]:
    def function(a: ArrayLike, axis: int | Sequence[int] | None = None, **options: Any) -> Array:
        return getattr(as_array(a), name)(axis=axis, **options)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`Array.{name}`."
    return function


sum, min, max, any, all = (_reduction(name) for name in ("sum", "min", "max", "any", "all"))


# Shapes.


def full_like(a: Array, value: int, dtype: Any = None) -> Array:
    """An array of equal numbers with the shape of `a`, and its type if none is given."""
    return array_constant(np.full(a.shape, value, element_type(dtype or a.dtype, here())))


def zeros_like(a: Array, dtype: Any = None) -> Array:
    """Zeros in the shape of `a`."""
    return full_like(a, 0, dtype)


def ones_like(a: Array, dtype: Any = None) -> Array:
    """Ones in the shape of `a`."""
    return full_like(a, 1, dtype)


def expand_dims(a: Array, axis: int) -> Array:
    """A new dimension of one element."""
    rank = a.ndim + 1
    if not -rank <= axis < rank:
        raise here().error(f"there is no axis {axis} in an array of {rank} dimensions")
    return a[(slice(None),) * (axis % rank) + (None,)]


def squeeze(a: Array) -> Array:
    """Without dimensions of one element."""
    return a[tuple(0 if n == 1 else slice(None) for n in a.shape)]


def ravel(a: Array) -> Array:
    """All elements in one dimension; see `reshape`."""
    return reshape(a, -1)


def reshape(a: Array, *shape: Any) -> Array:
    """The same elements in another shape, row by row. Dimensions can be split, and joined with those of one element;
    one size can be -1."""
    location = here()
    sizes = list(shape[0] if len(shape) == 1 and not isinstance(shape[0], int | np.integer) else shape)
    if sizes.count(-1) == 1 and a.size % -prod(sizes) == 0:
        sizes[sizes.index(-1)] = a.size // -prod(sizes)
    if not sizes or prod(sizes) != a.size or sorted(sizes)[0] < 1:
        raise location.error(f"shape {a.shape} of {a.size} elements cannot become {tuple(sizes)}")
    rows = [_split(sizes, prod(a.shape[axis + 1:]), n) for axis, n in enumerate(a.shape)]
    if None in rows:
        raise location.error(f"unsupported operation: shape {a.shape} cannot become {tuple(sizes)}, which joins "
                             "dimensions; splitting them is possible")
    matrix = tuple(tuple(row) for row in rows if row is not None)
    return Array(viewed(a.expression, tuple(sizes), matrix, (0,) * a.ndim, None, location))


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


# Numpy's own functions.


def call_numpy(function: Any, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What numpy's `function` means for parallel arrays. Raises `ArrayError` if it means nothing."""
    from compiler.frontend import parallel_array

    own = str(function.__name__)
    name = _ALIASES.get(own, own)
    found = getattr(parallel_array, name, None) if name in parallel_array.__all__ else None
    location = here()
    if found is None:
        raise unsupported(name, location)
    try:
        return found(*arguments, **options)
    except TypeError as error:
        raise location.error(f"unsupported operation: numpy's {name} with these arguments: {error}") from None


_ALIASES = {"amin": "min", "amax": "max", "bitwise_invert": "invert", "positive": "as_array", "mod": "remainder"}

