"""Numpy's names for operators, methods and attributes, and what numpy's own functions do with parallel arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from compiler.frontend.parallel_array.array import Array, ArrayLike, apply, array_constant, as_array, unsupported
from compiler.frontend.parallel_array.element_types import BOOL, element_type
from compiler.frontend.parallel_array.location import here

__all__ = ["add", "all", "any", "bitwise_and", "bitwise_or", "bitwise_xor", "call_method", "call_numpy", "cos",
           "divide", "equal", "exp", "expand_dims", "floor_divide", "full_like", "greater", "greater_equal", "invert",
           "left_shift", "less", "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "max", "min",
           "multiply", "negative", "not_equal", "ones_like", "power", "remainder", "right_shift", "sign", "sin", "sqrt",
           "squeeze", "subtract", "sum", "zeros_like"]


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


divide = _operator("divide", "/")
divide.__doc__ = "``a / b`` of floating-point numbers; not on the lanes of the vector processor."


def _function(name: str) -> Callable[[ArrayLike], Array]:
    def function(a: ArrayLike) -> Array:
        return apply(name, a)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The {name} of floating-point numbers; not on the lanes of the vector processor."
    return function


sqrt, exp, log, sin, cos = (_function(name) for name in ("sqrt", "exp", "log", "sin", "cos"))


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


def squeeze(a: Array, axis: int | None = None) -> Array:
    """Without dimensions of one element, or without one of them."""
    if axis is not None and (not -a.ndim <= axis < a.ndim or a.shape[axis] != 1):
        raise here().error(f"axis {axis} of shape {a.shape} has not one element")
    gone = [n == 1 if axis is None else i == axis % a.ndim for i, n in enumerate(a.shape)]
    return a[tuple(0 if one else slice(None) for one in gone)]


# Numpy's own functions.

_METHODS = ("argmax", "argmin", "cumsum", "diagonal", "mean", "prod", "ptp", "ravel", "repeat", "sort", "squeeze",
            "swapaxes", "trace")


def method_of(name: str) -> Callable[..., Any] | None:
    """The function that is also a method of numpy's arrays, whose first argument is the array."""
    from compiler.frontend import parallel_array

    return getattr(parallel_array, name) if name in _METHODS else None



def call_method(ufunc: str, method: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What a method of numpy's function `ufunc` means: ``reduce`` and ``accumulate``, along axis 0 by default, and
    ``outer``. Raises `ArrayError`."""
    from compiler.frontend.parallel_array.searching import accumulate

    location = here()
    if method == "accumulate" and len(arguments) <= 2 and not set(options) - {"axis"}:
        return accumulate(ufunc, as_array(arguments[0], location), *arguments[1:], **options)
    reduced = {"add": sum, "minimum": min, "maximum": max, "logical_and": all, "logical_or": any}.get(ufunc)
    if method == "reduce" and reduced is not None and len(arguments) <= 2:
        return _called(f"{ufunc}.reduce", partial(_reduced, reduced), arguments, options)
    if method == "outer" and not options:
        first, second = (as_array(argument, location) for argument in arguments)
        return call_numpy(getattr(np, ufunc), (first[(..., *[None] * second.ndim)], second), {})
    raise unsupported(f"{ufunc}.{method}", location)


def _reduced(reduction: Callable[..., Array], a: ArrayLike, axis: Any = 0, **options: Any) -> Array:
    return reduction(a, axis=axis, **options)


def call_numpy(function: Any, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What numpy's `function` means for parallel arrays. Raises `ArrayError` if it means nothing."""
    from compiler.frontend import parallel_array

    own = str(function.__name__)
    name = _ALIASES.get(own, own)
    found = getattr(parallel_array, name, None) if name in parallel_array.__all__ else None
    if found is None:
        raise unsupported(name, here())
    return _called(name, found, arguments, options)


def _called(name: str, function: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    try:
        return function(*arguments, **options)
    except TypeError as error:
        raise here().error(f"unsupported operation: numpy's {name} with these arguments: {error}") from None


_ALIASES = {"true_divide": "divide", "fabs": "absolute",
            "amin": "min", "amax": "max", "bitwise_invert": "invert", "positive": "as_array", "mod": "remainder",
            "select": "select_first"}
