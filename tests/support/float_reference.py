"""What floating-point operators must give, by numpy, ml_dtypes, MPFR and exact integers, not the compiler's code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import isqrt

import gmpy2
import ml_dtypes
import numpy as np

from hw.float import Float, Rounding

__all__ = ["DTYPES", "exact_results", "mpfr_results", "native_results"]

DTYPES = {Float(5, 2): ml_dtypes.float8_e5m2, Float(4, 3): ml_dtypes.float8_e4m3, Float(8, 7): ml_dtypes.bfloat16,
          Float(5, 10): np.float16, Float(8, 23): np.float32, Float(11, 52): np.float64}
"""Formats that numpy computes with, the smaller ones by way of ml_dtypes."""

_MODES = {Rounding.NEAREST_EVEN: gmpy2.RoundToNearest, Rounding.ZERO: gmpy2.RoundToZero, Rounding.UP: gmpy2.RoundUp,
          Rounding.DOWN: gmpy2.RoundDown}

_NATIVE: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "sqrt": np.sqrt, "eq": np.equal,
    "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "neg": np.negative, "abs": np.abs,
}


def native_results(form: Float, op: str, words: Sequence[np.ndarray]) -> np.ndarray:
    """Words (uint64) of numpy's own operation `op`; whatever is no number is the quiet pattern."""
    dtype = np.dtype(DTYPES[form])
    kind = np.dtype(f"u{dtype.itemsize}")
    with np.errstate(all="ignore"):
        result = _NATIVE[op](*(word.astype(kind).view(dtype) for word in words))
        none = np.isnan(result)
    if result.dtype == bool:
        return result.astype(np.uint64)
    kept = op in ("neg", "abs")
    return np.where(none & ~kept, form.nan, result.view(kind)).astype(np.uint64)


def mpfr_results(form: Float, op: str, words: Sequence[np.ndarray], rounding: Rounding) -> np.ndarray:
    """Words (uint64) of MPFR's operation with subnormal numbers, for arithmetic and ``mad``."""
    least = 2 - form.bias - form.mantissa
    context = gmpy2.context(precision=form.mantissa + 1, emin=least, emax=form.bias + 1, subnormalize=True,
                            round=_MODES[rounding])
    call = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "sqrt": "sqrt", "mad": "fma"}[op]
    with gmpy2.context(precision=form.mantissa + 1):
        rows = [[_decode_mpfr(form, int(word)) for word in row] for row in zip(*words, strict=True)]
    with context:
        operation = getattr(gmpy2, call)
        results = [_encode_mpfr(form, operation(*row)) for row in rows]
    return np.array(results, np.uint64)


def _decode_mpfr(form: Float, word: int) -> gmpy2.mpfr:
    negative = bool(word >> form.width - 1)
    exponent, fraction = word >> form.mantissa & (1 << form.exponent) - 1, word & (1 << form.mantissa) - 1
    if exponent == (1 << form.exponent) - 1:
        return gmpy2.nan() if fraction else gmpy2.inf(-1 if negative else 1)
    size = fraction | (1 << form.mantissa if exponent else 0)
    if not size:
        return gmpy2.zero(-1 if negative else 1)
    return gmpy2.mpfr(gmpy2.mul_2exp(gmpy2.mpz(-size if negative else size), 0)) * gmpy2.exp2(
        max(exponent, 1) - form.bias - form.mantissa)


def _encode_mpfr(form: Float, value: gmpy2.mpfr) -> int:
    if gmpy2.is_nan(value):
        return form.nan
    sign = int(gmpy2.is_signed(value)) << form.width - 1
    if gmpy2.is_infinite(value):
        return sign | form.infinity
    if gmpy2.is_zero(value):
        return sign
    size, power = abs(Fraction(*map(int, value.as_integer_ratio()))), 1 - form.bias - form.mantissa
    exponent = max(0, size.numerator.bit_length() - size.denominator.bit_length() - 1 + form.bias)
    while True:
        scaled = size / Fraction(2) ** (power + max(exponent, 1) - 1)
        if scaled < 2 << form.mantissa:
            break
        exponent += 1
    assert scaled.denominator == 1
    return sign | (((max(exponent, 1) - 1) << form.mantissa) + int(scaled))


def exact_results(form: Float, op: str, words: Sequence[np.ndarray], rounding: Rounding, *,
                  subnormals: bool) -> np.ndarray:
    """Words (uint64) of arithmetic on formats of up to eight bits, in all roundings: exact integers, whose every
    result is one rounding of a double with a sticky last bit."""
    values = [_decoded(form, word, subnormals=subnormals) for word in words]
    with np.errstate(all="ignore"):
        exact = _EXACT[op](*values)
        if op in ("add", "sub", "mad"):
            exact = _signed_zeros(op, values, exact, rounding)
    return _rounded_words(form, exact, rounding, subnormals=subnormals)


def _signed_zeros(op: str, values: Sequence[np.ndarray], exact: np.ndarray, rounding: Rounding) -> np.ndarray:
    """Sums of opposite numbers are minus zero only if all is rounded down; numpy's are of rounding to nearest."""
    one = values[0] * values[1] if op == "mad" else values[0]
    other = -values[1] if op == "sub" else values[-1]
    opposite = (exact == 0) & (np.signbit(one) != np.signbit(other))
    return np.where(opposite, -0.0 if rounding is Rounding.DOWN else 0.0, exact)


def _decoded(form: Float, words: np.ndarray, *, subnormals: bool) -> np.ndarray:
    words = words.astype(np.int64)
    exponent, fraction = words >> form.mantissa & (1 << form.exponent) - 1, words & (1 << form.mantissa) - 1
    size = np.where(exponent == 0, fraction if subnormals else 0, fraction | 1 << form.mantissa)
    value = np.ldexp(size.astype(float), np.maximum(exponent, 1) - form.bias - form.mantissa)
    special = exponent == (1 << form.exponent) - 1
    value = np.where(special, np.where(fraction == 0, np.inf, np.nan), value)
    return np.where(words >> form.width - 1 == 1, -value, value)


def _sticky_quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``a / b`` cut after 40 bits, the last one odd if anything is lost."""
    plain = a / b
    usual = np.isfinite(plain) & (plain != 0)
    (x, ex), (y, ey) = (np.frexp(np.where(usual, np.abs(v), 1.0)) for v in (a, b))
    top, bottom = (np.ldexp(v, 13).astype(np.int64) for v in (x, y))
    quotient = (top << 40) // bottom | ((top << 40) % bottom != 0)
    return np.where(usual, np.copysign(np.ldexp(quotient.astype(float), ex - ey - 40), plain), plain)


def _sticky_root(a: np.ndarray) -> np.ndarray:
    plain = np.sqrt(a)
    usual = np.isfinite(plain) & (plain != 0)
    x, ex = np.frexp(np.where(usual, np.abs(a), 1.0))
    odd = ex & 1
    whole = [int(v) << 40 for v in np.ldexp(x, 14 + odd)]
    root = np.array([isqrt(v) | (isqrt(v) ** 2 != v) for v in whole], float)
    return np.where(usual, np.ldexp(root, (ex - 14 - odd - 40) // 2), plain)


_EXACT: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": _sticky_quotient, "sqrt": _sticky_root,
    "mad": lambda a, b, c: a * b + c,
}


def _rounded_words(form: Float, values: np.ndarray, rounding: Rounding, *, subnormals: bool) -> np.ndarray:
    negative = np.signbit(values)
    size = np.where(np.isfinite(values), np.abs(values), 0.0)
    exponent = np.maximum(np.where(size == 0, -9999, np.frexp(size)[1] - 1), 1 - form.bias)
    scaled = np.ldexp(size, form.mantissa - exponent)
    kept = np.floor(scaled)
    rest = scaled - kept
    up = {Rounding.NEAREST_EVEN: (rest > 0.5) | ((rest == 0.5) & (kept % 2 == 1)), Rounding.NEAREST_AWAY: rest >= 0.5,
          Rounding.ZERO: rest > 2, Rounding.UP: (rest > 0) & ~negative, Rounding.DOWN: (rest > 0) & negative}[rounding]
    bits = ((exponent + form.bias - 1).astype(np.int64) << form.mantissa) + (kept + up).astype(np.int64)
    inward = {Rounding.ZERO: np.ones_like(negative), Rounding.UP: negative, Rounding.DOWN: ~negative}.get(rounding)
    large = bits >= form.infinity
    bits = np.where(large, form.infinity - (0 if inward is None else inward.astype(np.int64)), bits)
    if not subnormals:
        bits = np.where(size < 2.0 ** (1 - form.bias), 0, bits)
    bits = np.where(np.isinf(values), form.infinity, bits) | negative.astype(np.int64) << form.width - 1
    return np.where(np.isnan(values), form.nan, bits).astype(np.uint64)
