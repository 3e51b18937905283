"""What instructions on floating-point numbers compute, on numpy arrays: the arithmetic of the reference simulator.

Numbers come and go as patterns of 32 bits. Each operation rounds once, to the nearest number, ties to even; sums and
products that are none have one pattern, as `hw.float` says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from hw.odd_rounding import odd_multiply_add, odd_single
from hw.vector_lanes.isa import FLOAT, Mode, Op

__all__ = ["NOT_A_NUMBER", "compute_float"]

NOT_A_NUMBER = 0x7FC00000
"""The pattern of results of arithmetic that are no number."""

_Array = np.ndarray[Any, Any]

_COMPARISONS: dict[Op, Callable[[_Array, _Array], _Array]] = {
    Op.VSEQ: np.equal, Op.VSNE: np.not_equal, Op.VSLT: np.less, Op.VSLE: np.less_equal, Op.VSGT: np.greater,
    Op.VSGE: np.greater_equal,
}
_ARITHMETIC: dict[Op, Callable[[_Array, _Array], _Array]] = {
    Op.VADD: np.add, Op.VSUB: np.subtract, Op.VMUL: np.multiply,
}


def compute_float(mode: Mode, a: _Array, b: _Array, d: _Array) -> _Array:
    """Words of the results of a legal instruction that takes or gives floating-point numbers. Sources are patterns
    (uint32, or uint16 of bfloat16), integers of the in size for a conversion from them; `d`, the old destination,
    counts for VMAC and VFMA."""
    if mode.absolute:
        return _compute_half(mode, a, b, d)
    with np.errstate(all="ignore"):
        if mode.op is Op.VMOV:
            return _to_integers(a, mode.signed) if mode.in_size == FLOAT else _words(a.astype(np.float32))
        x, y = a.view(np.float32), b.view(np.float32)
        if mode.op in _COMPARISONS:
            return _COMPARISONS[mode.op](x, y).astype(np.uint32)
        if mode.op in _ARITHMETIC:
            return _words(_ARITHMETIC[mode.op](x, y))
        if mode.op is Op.VMAC:
            product = _words(np.multiply(x, y)).view(np.float32)
            return _words(np.add(product, d.view(np.float32)))
        if mode.fuses:
            return _words(odd_multiply_add(x, y, d.view(np.float32)).astype(np.float32))
        better = np.less(x, y) if mode.op is Op.VMIN else np.greater(x, y)
        return np.where(np.isnan(y) | better, a, b)


def _compute_half(mode: Mode, a: _Array, b: _Array, d: _Array) -> _Array:
    """The same in bfloat16. Sums and products of such numbers that are rounded to 32 bits first are what they are at
    once: 24 bits are more than twice 8 and two more, and what is subnormal has no bits that 32 bits do not hold."""
    if mode.op is Op.VMOV and mode.in_size != FLOAT:
        return _half_of_integers(a)
    if mode.narrows:
        return _half(a)
    if mode.fuses:
        with np.errstate(all="ignore"):
            return _half(_words(odd_single(odd_multiply_add(*(_single(v).view(np.float32) for v in (a, b, d))))))
    wide = replace(mode, absolute=False)
    if mode.op is Op.VMAC:
        product = _half(compute_float(replace(wide, op=Op.VMUL), _single(a), _single(b), d))
        return _half(compute_float(replace(wide, op=Op.VADD), _single(product), _single(d), d))
    found = compute_float(wide, *(_single(value) for value in (a, a if b is None else b, d)))
    return _half(found) if mode.op in _ARITHMETIC else found >> 16 if mode.out_size == FLOAT else found


def _single(patterns: _Array) -> _Array:
    """Patterns of bfloat16 as those of the same numbers in 32 bits."""
    return np.asarray(patterns).astype(np.uint32) << np.uint32(16)


def _half(patterns: _Array) -> _Array:
    """Patterns of 32 bits rounded to bfloat16."""
    rounded = patterns + np.uint32(0x7FFF) + (patterns >> 16 & 1)
    nan = (patterns & 0x7FFFFFFF) > 0x7F800000
    return np.where(nan, NOT_A_NUMBER >> 16, rounded >> 16).astype(np.uint32)


def _half_of_integers(numbers: _Array) -> _Array:
    """Integers of at most 33 bits rounded to bfloat16, once."""
    bits = numbers.astype(np.float64).view(np.uint64)
    place = np.uint64(52 - 7)
    below_half = np.uint64((1 << 52 - 8) - 1)
    rounded = (bits + below_half + (bits >> place & np.uint64(1))) >> place
    return (rounded << place).view(np.float64).astype(np.float32).view(np.uint32) >> 16


def _words(numbers: _Array) -> _Array:
    return np.where(np.isnan(numbers), np.uint32(NOT_A_NUMBER), np.ascontiguousarray(numbers).view(np.uint32))


def _to_integers(patterns: _Array, signed: bool) -> _Array:
    """Towards zero; what int32, or for unsigned numbers int64, does not hold is the least number of that type."""
    numbers = patterns.view(np.float32).astype(np.float64)
    limit = 2.0**31 if signed else 2.0**63
    inside = (numbers > -limit - 1.0) & (numbers < limit)
    least = np.int64(-(2**31) if signed else -(2**63))
    return np.where(inside, np.where(inside, numbers, 0).astype(np.int64), least).astype(np.uint32)
