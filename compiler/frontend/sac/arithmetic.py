"""What operations on SA-C's numbers compute, on numpy arrays of any shape.

Numbers of integer and fixed-point types are the integers that hold them, in int64 (`compiler.frontend.sac.types`);
``float`` is float32 and ``double`` float64. Operations compute in the type of their result, and wrap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.frontend.sac.types import DOUBLE, FLOAT, Kind, Scalar

__all__ = ["BINARY", "COMPARISONS", "INTRINSICS", "SEVERAL", "binary", "cast", "compare", "constant", "dtype", "wrap"]


def dtype(scalar: Scalar) -> np.dtype:
    """What numbers of the type are computed in."""
    return np.dtype({FLOAT: np.float32, DOUBLE: np.float64}.get(scalar, np.int64))


def wrap(scalar: Scalar, values: np.ndarray) -> np.ndarray:
    """Integers (int64, or uint64 of unsigned products) modulo ``2**width``, as numbers of the type."""
    mask = (1 << scalar.width) - 1
    low = (values & values.dtype.type(mask)).astype(np.int64)
    return np.where(low > scalar.maximum, low - (mask + 1), low) if scalar.signed else low


def constant(scalar: Scalar, text: str) -> int | float:
    """The number that is written `text`, as `literal_type` types it."""
    if text in ("true", "false"):
        return int(text == "true")
    return float(text) if scalar == DOUBLE else int(text, 0)


def cast(values: np.ndarray, source: Scalar, target: Scalar) -> np.ndarray:
    """`values` converted (sections 2.2 and 4.1.7 of Hammes 2000).

    To and from ``bits`` the bits stay as they are, cut or filled with zeros at the left. To ``bool``: whether the
    number differs from 0. Other numbers keep their value as far as the type has bits: bits behind the point that it
    lacks are dropped (towards minus infinity; of floating-point numbers towards 0, as C does), high bits wrap.
    Infinities and NaN become 0.
    """
    if source == target:
        return values
    if target.floating:
        return _to_floating(values, source, target)
    if source.floating:
        return _from_floating(values, source, target)
    if Kind.BITS in (source.kind, target.kind):
        return wrap(target, values & ((1 << source.width) - 1))
    if target.kind is Kind.BOOL:
        return (values != 0).astype(np.int64)
    shift = target.fraction - source.fraction
    return wrap(target, values << shift if shift >= 0 else values >> -shift)


def _to_floating(values: np.ndarray, source: Scalar, target: Scalar) -> np.ndarray:
    if source.floating:
        with np.errstate(over="ignore", invalid="ignore"):
            return values.astype(dtype(target))
    bits = values & ((1 << source.width) - 1) if source.kind is Kind.BITS else values
    return (bits.astype(np.float64) / (1 << source.fraction)).astype(dtype(target))


def _from_floating(values: np.ndarray, source: Scalar, target: Scalar) -> np.ndarray:
    if target.kind is Kind.BITS:
        held = np.ascontiguousarray(values).view(np.int32 if source == FLOAT else np.int64).astype(np.int64)
        return wrap(target, held)
    if target.kind is Kind.BOOL:
        return (values != 0).astype(np.int64)
    finite = np.where(np.isfinite(values), values, 0).astype(np.float64)
    whole = np.trunc(np.ldexp(np.fmod(finite, 2.0 ** 64), target.fraction))
    return wrap(target, np.fmod(whole, 2.0 ** 62).astype(np.int64))


def _product(scalar: Scalar, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    if scalar.signed:
        return wrap(scalar, left * right >> scalar.fraction)
    return wrap(scalar, left.astype(np.uint64) * right.astype(np.uint64) >> np.uint64(scalar.fraction))


def _quotient(scalar: Scalar, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Rounded towards 0, as in C. The divisor is not 0."""
    if not scalar.signed:
        scaled = left.astype(np.uint64) << np.uint64(scalar.fraction)
        return wrap(scalar, scaled // right.astype(np.uint64))
    size = np.abs(left << scalar.fraction).astype(np.uint64) // np.abs(right).astype(np.uint64)
    signed = size.astype(np.int64)
    return wrap(scalar, np.where((left < 0) != (right < 0), -signed, signed))


def _remainder(scalar: Scalar, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """With the sign of the dividend, as in C. The divisor is not 0."""
    size = np.abs(left) % np.abs(right)
    return wrap(scalar, np.where(left < 0, -size, size))


def _left_shift(scalar: Scalar, value: np.ndarray, amount: np.ndarray) -> np.ndarray:
    return wrap(scalar, np.where(amount < scalar.width, value << np.minimum(amount, scalar.width), 0))


def _right_shift(scalar: Scalar, value: np.ndarray, amount: np.ndarray) -> np.ndarray:
    return wrap(scalar, value >> np.minimum(amount, scalar.width))


def _whole(function: Callable[..., Any]) -> Callable[[Scalar, np.ndarray, np.ndarray], np.ndarray]:
    return lambda scalar, left, right: wrap(scalar, function(left, right))


def _floating(function: Callable[..., Any]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    def compute(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return function(left, right)
    return compute


_INTEGER = {
    "ADD": _whole(np.add), "SUB": _whole(np.subtract), "MUL": _product, "DIV": _quotient, "MOD": _remainder,
    "BIT_AND": _whole(np.bitwise_and), "BIT_OR": _whole(np.bitwise_or), "BIT_XOR": _whole(np.bitwise_xor),
    "LEFT_SHIFT": _left_shift, "RIGHT_SHIFT": _right_shift,
}
_REAL = {"ADD": _floating(np.add), "SUB": _floating(np.subtract), "MUL": _floating(np.multiply),
         "DIV": _floating(np.divide)}


def binary(kind: str, scalar: Scalar, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """One of `BINARY` in type `scalar`, which both operands have (but the amount of a shift)."""
    return _REAL[kind](left, right) if scalar.floating else _INTEGER[kind](scalar, left, right)


BINARY = tuple(_INTEGER)
COMPARISONS = {"EQ": np.equal, "NEQ": np.not_equal, "LT": np.less, "LE": np.less_equal, "GT": np.greater,
               "GE": np.greater_equal}


def compare(kind: str, left: np.ndarray, left_type: Scalar, right: np.ndarray, right_type: Scalar) -> np.ndarray:
    """One of `COMPARISONS` on exact values, whatever the types: 200 of a ``uint8`` is greater than any ``int8``."""
    test = COMPARISONS[kind]
    if left_type.floating or right_type.floating:
        return test(_exact(left, left_type), _exact(right, right_type)).astype(np.int64)
    left_whole, right_whole = left >> left_type.fraction, right >> right_type.fraction
    left_rest = left - (left_whole << left_type.fraction) << 32 - left_type.fraction
    right_rest = right - (right_whole << right_type.fraction) << 32 - right_type.fraction
    return np.where(left_whole == right_whole, test(left_rest, right_rest), test(left_whole, right_whole)
                    ).astype(np.int64)


def _exact(values: np.ndarray, scalar: Scalar) -> np.ndarray:
    return cast(values, scalar, DOUBLE)


def _by_element(name: str, exceptional: np.ufunc) -> Callable[..., np.ndarray]:
    """The C library's function for each element; `exceptional` gives the infinities and NaN that Python refuses."""
    function: Callable[..., float] = getattr(math, name)

    def safe(*values: float) -> float:
        try:
            return function(*values)
        except (ValueError, OverflowError):
            return float(exceptional(*values))

    elements = np.frompyfunc(safe, exceptional.nin, 1)

    def compute(*arrays: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.asarray(elements(*arrays), dtype=np.float64)
    return compute


def _rounded(function: np.ufunc) -> Callable[..., np.ndarray]:
    def compute(values: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return function(values)
    return compute


def _part(function: np.ufunc, part: int) -> Callable[..., np.ndarray]:
    """One of the results of a function with several."""
    def compute(values: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.asarray(function(values)[part], dtype=np.float64)
    return compute


INTRINSICS: dict[str, tuple[int, Callable[..., np.ndarray]]] = {
    "sqrt": (1, _rounded(np.sqrt)), "fabs": (1, _rounded(np.fabs)), "floor": (1, _rounded(np.floor)),
    "ceil": (1, _rounded(np.ceil)),
    **{name: (ufunc.nin, _by_element(name, ufunc)) for name, ufunc in {
        "acos": np.arccos, "asin": np.arcsin, "atan": np.arctan, "atan2": np.arctan2, "cos": np.cos, "cosh": np.cosh,
        "exp": np.exp, "fmod": np.fmod, "log": np.log, "log10": np.log10, "pow": np.power, "sin": np.sin,
        "sinh": np.sinh, "tan": np.tan, "tanh": np.tanh}.items()},
    "modf_fraction": (1, _part(np.modf, 0)), "modf_whole": (1, _part(np.modf, 1)),
    "frexp_fraction": (1, _part(np.frexp, 0)), "frexp_exponent": (1, _part(np.frexp, 1)),
}
"""C's mathematical functions of `double` by name: how many arguments, and what they compute."""
SEVERAL = {"modf": ("modf_fraction", "modf_whole"), "frexp": ("frexp_fraction", "frexp_exponent")}
"""Functions that give several results where C's take pointers: those of `INTRINSICS` that compute each."""
