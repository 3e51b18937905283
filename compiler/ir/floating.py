"""What floating-point operations compute: IEEE 754, one rounding per operation, to nearest, ties to even.

Values of all formats are held in float32 arrays. Results are computed in float64, which has more than twice the digits
of every computable format and two more, and rounded once more: that is the correctly rounded result (S. A. Figueroa,
"When is double rounding innocuous?", 1995).

Arithmetic that gives no number gives one quiet not-a-number, with the sign bit clear and only the first bit of the
mantissa set; the standard leaves that to implementations. Copies, selections, changes of sign and absolute values keep
all bits.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from compiler.ir.types import FLOAT32, Float, Int, Type

__all__ = ["ARITHMETIC", "COMPARISONS", "FLOAT_OPERATIONS", "apply_float", "as_elements", "decode", "encode",
           "encode_exact", "encode_number", "from_integers", "from_words", "rounded", "same", "to_integers", "to_words"]

ARITHMETIC: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
}
COMPARISONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}
_DIGITS = 53
_SIGN = np.uint32(1 << 31)


def apply_float(op: str, type: Float, arguments: list[np.ndarray]) -> np.ndarray:
    """Operation `op` on values of `type`: float32 for words, int64 (0, 1) for the results of comparisons, in which a
    not-a-number is unequal to everything."""
    with np.errstate(all="ignore"):
        if op in ARITHMETIC:
            wide = [argument.astype(np.float64) for argument in arguments]
            return rounded(type, ARITHMETIC[op](*wide))
        if op in COMPARISONS:
            return COMPARISONS[op](*arguments).astype(np.int64)
    return _MOVES[op](*arguments)


_MOVES: dict[str, Callable[..., np.ndarray]] = {
    "pass": lambda a: a,
    "neg": lambda a: (a.view(np.uint32) ^ _SIGN).view(np.float32),
    "abs": lambda a: (a.view(np.uint32) & ~_SIGN).view(np.float32),
    "select": lambda p, a, b: np.where(np.asarray(p) != 0, a, b),
}

FLOAT_OPERATIONS: tuple[str, ...] = (*ARITHMETIC, *COMPARISONS, *_MOVES)
"""The operations of `hw.ops` that floating-point numbers have."""


def rounded(type: Float, values: np.ndarray) -> np.ndarray:
    """float64 `values` as the nearest values of `type`, in float32. Too large ones become infinite."""
    exponent = np.maximum(np.frexp(values)[1] - 1, _least_exponent(type)) - type.mantissa
    with np.errstate(all="ignore"):
        nearest = np.ldexp(np.rint(np.ldexp(values, -exponent)), exponent)
        nearest = np.where(np.abs(nearest) >= 2.0 ** (1 << type.exponent - 1), np.copysign(np.inf, values), nearest)
        nearest = np.where(np.isfinite(values), nearest, values)
        return np.where(np.isnan(values), np.nan, nearest).astype(np.float32)


def _least_exponent(type: Float) -> int:
    """Of the smallest normal number."""
    return 2 - (1 << type.exponent - 1)


def encode(type: Float, values: np.ndarray) -> np.ndarray:
    """The bit patterns (int64) of float32 `values` of `type`; a not-a-number keeps the upper bits of its mantissa."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.int64)
    if type.exponent == 8:
        return bits >> 23 - type.mantissa
    special, least = ~np.isfinite(values), _least_exponent(type)
    magnitude = np.abs(np.where(special, np.float32(0), values)).astype(np.float64)
    exponent = np.where(magnitude == 0, least, np.maximum(np.frexp(magnitude)[1] - 1, least))
    finite = np.ldexp(magnitude, type.mantissa - exponent).astype(np.int64)
    finite += (exponent.astype(np.int64) - least) << type.mantissa
    other = type.infinity | (bits & 0x7FFFFF) >> 23 - type.mantissa
    return np.where(special, other, finite) | (bits >> 31) << type.width - 1


def decode(type: Float, patterns: np.ndarray) -> np.ndarray:
    """The values (float32) of bit `patterns` of `type`."""
    patterns = np.asarray(patterns).astype(np.int64)
    if type.exponent == 8:
        return (patterns << 23 - type.mantissa).astype(np.uint32).view(np.float32)
    fraction = patterns & (1 << type.mantissa) - 1
    exponent = patterns >> type.mantissa & (1 << type.exponent) - 1
    hidden = np.where(exponent == 0, 0, 1 << type.mantissa)
    scale = np.maximum(exponent, 1) - 1 + _least_exponent(type) - type.mantissa
    finite = np.ldexp((fraction | hidden).astype(np.float64), scale).astype(np.float32).view(np.uint32).astype(np.int64)
    special = 0xFF << 23 | fraction << 23 - type.mantissa
    bits = np.where(exponent == (1 << type.exponent) - 1, special, finite) | (patterns >> type.width - 1) << 31
    return bits.astype(np.uint32).view(np.float32)


def as_elements(type: Float, data: np.ndarray) -> np.ndarray:
    """Numbers that a user gives as float32 values of `type`, unchanged. Raises `ValueError`: what `data` holds."""
    if data.dtype == np.float32 and type == FLOAT32:
        return data
    if data.dtype.kind not in "fiub":
        raise ValueError(f"holds {data.dtype}")
    wide = data.astype(np.float64)
    found = rounded(type, wide)
    wrong = np.argwhere(~np.isnan(wide) & (found != wide))
    if len(wrong):
        place = tuple(map(int, wrong[0]))
        raise ValueError(f"holds {data[place]} at {place}, which is no number of type {type}")
    return found


def encode_number(type: Float, value: float) -> int:
    """The bit pattern of the number of `type` that is nearest to `value`."""
    return int(encode(type, rounded(type, np.array([value], np.float64)))[0])


def encode_exact(type: Float, value: Fraction) -> int:
    """The bit pattern of the number of `type`, computable or not, that is nearest to `value`; zero is positive."""
    size, least = abs(value), _least_exponent(type)
    if not size:
        return 0
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent = max(least, exponent - (size < Fraction(2) ** exponent))
    steps = round(size / Fraction(2) ** (exponent - type.mantissa))
    return min(type.infinity, ((exponent - least) << type.mantissa) + steps) | (value < 0) << type.width - 1


def from_integers(type: Float, values: np.ndarray) -> np.ndarray:
    """Integers (int64, or Python's in an object array) as the nearest values of `type`."""
    if values.dtype.kind == "O" or (np.abs(values) >> _DIGITS).any():
        values = np.array([_with_sticky(int(value)) for value in values.ravel()]).reshape(values.shape)
    return rounded(type, values.astype(np.float64))


def _with_sticky(value: int) -> float:
    """The upper digits of `value`, the last one odd if any are lost, so that rounding it once more is right."""
    lost = max(0, abs(value).bit_length() - _DIGITS)
    kept = abs(value) >> lost
    kept |= kept << lost != abs(value)
    return float(kept << lost) * (-1 if value < 0 else 1)


def to_integers(type: Int, values: np.ndarray) -> np.ndarray:
    """Float `values` rounded towards zero to `type`, as exact Python integers that are in its range.

    What does not fit is undefined in C; here it is what gcc's code for x86-64 gives: conversion to the first of int32
    and int64 that holds all of `type`, the most negative number of that one for what does not fit, then wrapped.
    """
    through = Int(32 if type.width < 32 or type == Int(32) else 64)
    found = np.empty(values.shape, object)
    for place, value in np.ndenumerate(values):
        whole = int(value) if np.isfinite(value) else through.minimum
        if type == Int(64, signed=False) and value >= 2.0**63:
            whole = whole if type.contains(whole) and np.isfinite(value) else 0
        elif not through.contains(whole):
            whole = through.minimum
        found[place] = type.wrap(whole)
    return found


def to_words(type: Type, values: np.ndarray) -> np.ndarray:
    """Values as the words that hardware has: bit patterns of floating-point numbers, integers as they are."""
    return encode(type, values) if isinstance(type, Float) else values


def from_words(type: Type, words: np.ndarray) -> np.ndarray:
    """Inverse of `to_words`, in the dtype of results."""
    assert isinstance(type, Int | Float)
    if isinstance(type, Float):
        return decode(type, words).astype(type.dtype, copy=False)
    exact = words.astype(object) if type.width > 32 else words
    return np.asarray(type.wrap(exact)).astype(type.dtype, copy=False)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two results are equal, floating-point ones bit for bit."""
    if a.dtype == b.dtype == np.float32:
        a, b = (np.ascontiguousarray(part).view(np.uint32) for part in (a, b))
    return np.array_equal(a, b)
