"""What instructions on floating-point numbers compute, on numpy arrays: the arithmetic of the reference simulator.

Numbers come and go as patterns of 32 bits. Each operation rounds once, to the nearest number, ties to even; sums and
products that are none have one pattern, as `hw.float` says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

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
    (uint32), integers of the in size for a conversion from them; `d`, the old destination, counts for VMAC."""
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
        better = np.less(x, y) if mode.op is Op.VMIN else np.greater(x, y)
        return np.where(np.isnan(y) | better, a, b)


def _words(numbers: _Array) -> _Array:
    return np.where(np.isnan(numbers), np.uint32(NOT_A_NUMBER), np.ascontiguousarray(numbers).view(np.uint32))


def _to_integers(patterns: _Array, signed: bool) -> _Array:
    """Towards zero; what int32, or for unsigned numbers int64, does not hold is the least number of that type."""
    numbers = patterns.view(np.float32).astype(np.float64)
    limit = 2.0**31 if signed else 2.0**63
    inside = (numbers > -limit - 1.0) & (numbers < limit)
    least = np.int64(-(2**31) if signed else -(2**63))
    return np.where(inside, np.where(inside, numbers, 0).astype(np.int64), least).astype(np.uint32)
