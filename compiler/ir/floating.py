"""What floating-point operations compute: IEEE 754, one rounding per operation, to nearest, ties to even.

Values of a format are held in float32 arrays, or in float64 if float32 does not contain the format. Results of the
former are computed in float64, which has more than twice the digits of every format in float32 and two more, and
rounded once more: that is the correctly rounded result (S. A. Figueroa, "When is double rounding innocuous?", 1995). A
product and a sum that are rounded once, ``mad``, go through a sum that is rounded to odd (`hw.odd_rounding`). Float64
itself is numpy's; what is between the two is computed with exact fractions.

Arithmetic that gives no number gives one quiet not-a-number, with the sign bit clear and only the first bit of the
mantissa set; the standard leaves that to implementations. Copies, selections, changes of sign and absolute values keep
all bits. The minimum and the maximum of a number and what is none are the number; of equal numbers they are the second.

Exponential functions, logarithms, sines and cosines are not rounded correctly: `compiler.ir.float_functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import isqrt

import numpy as np

from compiler.ir.float_functions import FUNCTIONS, apply_function
from compiler.ir.types import FLOAT32, FLOAT64, Float, Int, Type
from hw.odd_rounding import odd_multiply_add

__all__ = ["ARITHMETIC", "COMPARISONS", "FLOAT_OPERATIONS", "apply_float", "as_elements", "decode", "encode",
           "encode_exact", "encode_number", "from_integers", "from_words", "rounded", "same", "to_integers", "to_words"]

ARITHMETIC: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
}
_IN_DOUBLES: dict[str, Callable[..., np.ndarray]] = {
    **ARITHMETIC, "sqrt": np.sqrt,
    "mad": lambda a, b, c: np.where(np.isinf(c) & np.isfinite(a) & np.isfinite(b), c, a * b + c),
}
COMPARISONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}
_DIGITS = 53


def apply_float(op: str, type: Float, arguments: list[np.ndarray]) -> np.ndarray:
    """Operation `op` on values of `type`: its `dtype` for words, int64 (0, 1) for the results of comparisons, in which
    a not-a-number is unequal to everything."""
    with np.errstate(all="ignore"):
        if op in COMPARISONS:
            return COMPARISONS[op](*arguments).astype(np.int64)
        if op in _MOVES:
            return _MOVES[op](*arguments)
        if op in FUNCTIONS:
            return decode(type, apply_function(op, type, encode(type, np.asarray(arguments[0]))))
        if type != FLOAT64 and not type.single:
            return _exactly(op, type, arguments)
        if op == "mad":
            return rounded(type, odd_multiply_add(*arguments)) if type.single else _exactly(op, type, arguments)
        return rounded(type, _IN_DOUBLES[op](*(argument.astype(np.float64) for argument in arguments)))


def _flipped(a: np.ndarray, keep: bool = False) -> np.ndarray:
    """`a` with the other sign, or with none."""
    words = np.dtype(f"u{a.itemsize}")
    sign = words.type(1 << 8 * a.itemsize - 1)
    return (a.view(words) & ~sign if keep else a.view(words) ^ sign).view(a.dtype)


_MOVES: dict[str, Callable[..., np.ndarray]] = {
    "pass": lambda a: a,
    "neg": _flipped,
    "abs": lambda a: _flipped(a, True),
    "select": lambda p, a, b: np.where(np.asarray(p) != 0, a, b),
    "min": lambda a, b: np.where((a < b) | np.isnan(b), a, b),
    "max": lambda a, b: np.where((a > b) | np.isnan(b), a, b),
}

FLOAT_OPERATIONS: tuple[str, ...] = (*ARITHMETIC, "mad", "sqrt", *FUNCTIONS, *COMPARISONS, *_MOVES)
"""The operations of `hw.ops` that floating-point numbers have."""


def _exactly(op: str, type: Float, arguments: list[np.ndarray]) -> np.ndarray:
    """An operation on finite numbers by exact fractions; where there are others, and for the signs of zeros, as in
    float64."""
    wide = np.broadcast_arrays(*(np.asarray(argument, np.float64) for argument in arguments))
    usual = _IN_DOUBLES[op](*wide)
    result = np.where(np.isnan(usual), np.nan, usual)
    for place in np.ndindex(usual.shape):
        numbers = [Fraction(float(part[place])) for part in wide if np.isfinite(part[place])]
        if len(numbers) == len(wide) and not np.isnan(usual[place]) and not (op == "div" and not numbers[1]):
            found = _FRACTIONS[op](*numbers)
            if found or op == "mad":
                result[place] = _nearest(type, found) if found else _zero(wide, place)
    return result


def _zero(wide: Sequence[np.ndarray], place: tuple[int, ...]) -> float:
    """The zero that an exact ``a * b + c`` is."""
    signs = [bool(np.signbit(part[place])) for part in wide]
    return -0.0 if (signs[0] != signs[1]) and signs[2] else 0.0


def _nearest(type: Float, value: Fraction) -> float:
    return float(decode(type, np.array([encode_exact(type, value)], np.uint64))[0])


def _root(value: Fraction) -> Fraction:
    """The square root cut after 64 digits, with another one that says whether something is lost."""
    scale = max(0, 70 - (value.numerator.bit_length() - value.denominator.bit_length()) // 2)
    shifted = (value.numerator << 2 * scale) // value.denominator
    whole = isqrt(shifted)
    exact = whole * whole == shifted and shifted * value.denominator == value.numerator << 2 * scale
    return Fraction(2 * whole + (not exact), 2 << scale)


_FRACTIONS: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "mad": lambda a, b, c: a * b + c, "sqrt": _root,
}


def rounded(type: Float, values: np.ndarray) -> np.ndarray:
    """float64 `values` as the nearest values of `type`, in its `dtype`. Too large ones become infinite."""
    if type == FLOAT64:
        return np.where(np.isnan(values), np.nan, values)
    exponent = np.maximum(np.frexp(values)[1] - 1, _least_exponent(type)) - type.mantissa
    with np.errstate(all="ignore"):
        nearest = np.ldexp(np.rint(np.ldexp(values, -exponent)), exponent)
        if type.exponent < FLOAT64.exponent:
            limit = 2.0 ** (1 << type.exponent - 1)
            nearest = np.where(np.abs(nearest) >= limit, np.copysign(np.inf, values), nearest)
        nearest = np.where(np.isfinite(values), nearest, values)
        return np.where(np.isnan(values), np.nan, nearest).astype(type.dtype)


def _least_exponent(type: Float) -> int:
    """Of the smallest normal number."""
    return 2 - (1 << type.exponent - 1)


def _container(type: Float) -> tuple[Float, np.dtype]:
    """The format of the `dtype` of `type`, and words of its bits."""
    return (FLOAT32, np.dtype(np.uint32)) if type.single else (FLOAT64, np.dtype(np.uint64))


def encode(type: Float, values: np.ndarray) -> np.ndarray:
    """The bit patterns (int64, of 64 bits uint64) of `values` of `type`, in its `dtype`; a not-a-number keeps the upper
    bits of its mantissa."""
    form, words = _container(type)
    bits = np.ascontiguousarray(values, type.dtype).view(words).astype(np.uint64)
    spare = np.uint64(form.mantissa - type.mantissa)
    if type.exponent == form.exponent:
        return (bits >> spare).astype(np.uint64 if type.width == 64 else np.int64)
    special, least = ~np.isfinite(values), _least_exponent(type)
    magnitude = np.abs(np.where(special, 0, values)).astype(np.float64)
    exponent = np.where(magnitude == 0, least, np.maximum(np.frexp(magnitude)[1] - 1, least))
    finite = np.ldexp(magnitude, type.mantissa - exponent).astype(np.int64)
    finite += (exponent.astype(np.int64) - least) << type.mantissa
    fraction = bits & np.uint64((1 << form.mantissa) - 1)
    other = type.infinity | (fraction >> spare).astype(np.int64)
    sign = (bits >> np.uint64(form.width - 1)).astype(np.int64)
    return np.where(special, other, finite) | sign << type.width - 1


def decode(type: Float, patterns: np.ndarray) -> np.ndarray:
    """The values, in the `dtype` of `type`, of its bit `patterns`."""
    form, words = _container(type)
    patterns = np.asarray(patterns).astype(np.uint64)
    spare = np.uint64(form.mantissa - type.mantissa)
    if type.exponent == form.exponent:
        return (patterns << spare).astype(words).view(type.dtype)
    patterns = patterns.astype(np.int64)
    fraction = patterns & (1 << type.mantissa) - 1
    exponent = patterns >> type.mantissa & (1 << type.exponent) - 1
    hidden = np.where(exponent == 0, 0, 1 << type.mantissa)
    scale = np.maximum(exponent, 1) - 1 + _least_exponent(type) - type.mantissa
    finite = np.ldexp((fraction | hidden).astype(np.float64), scale).astype(type.dtype).view(words).astype(np.uint64)
    special = np.uint64(form.infinity) | fraction.astype(np.uint64) << spare
    sign = (patterns >> type.width - 1).astype(np.uint64) << np.uint64(form.width - 1)
    return (np.where(exponent == (1 << type.exponent) - 1, special, finite) | sign).astype(words).view(type.dtype)


def as_elements(type: Float, data: np.ndarray) -> np.ndarray:
    """Numbers that a user gives as values of `type`, unchanged. Raises `ValueError`: what `data` holds."""
    if data.dtype == type.dtype and type in (FLOAT32, FLOAT64):
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
    if type == FLOAT64:
        return values.astype(np.float64)
    if not type.single:
        return np.array([_nearest(type, Fraction(int(value))) for value in values.ravel()]).reshape(values.shape)
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
    if a.dtype == b.dtype and a.dtype.kind == "f":
        a, b = (np.ascontiguousarray(part).view(f"u{part.itemsize}") for part in (a, b))
    return np.array_equal(a, b)
