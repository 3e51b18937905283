"""Products and sums that are rounded to odd, so that a second rounding, to fewer digits, is that of the exact number.

S. Boldo and G. Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["odd_multiply_add", "odd_single"]

_Array = np.ndarray[Any, Any]
_SINGLE = np.float32


def odd_multiply_add(a: Any, b: Any, c: Any) -> _Array:
    """``a * b + c`` of float32 values as float64 whose last bit is odd if the sum is not exact: rounding it to a format
    in float32 is rounding the sum."""
    a, b, c = (np.asarray(argument).astype(np.float64) for argument in (a, b, c))
    product = a * b
    total = product + c
    part = total - product
    lost = (product - (total - part)) + (c - part)
    even = (np.ascontiguousarray(total).view(np.int64).reshape(total.shape) & 1) == 0
    inexact = np.isfinite(total) & (lost != 0) & even
    return np.where(inexact, np.nextafter(total, np.where(lost > 0, np.inf, -np.inf)), total)


def odd_single(numbers: _Array) -> _Array:
    """float64 `numbers` as float32 whose last bit is odd where they are not exact: for formats with two digits less."""
    nearest = numbers.astype(_SINGLE)
    even = (np.ascontiguousarray(nearest).view(np.int32).reshape(nearest.shape) & 1) == 0
    inexact = (nearest != numbers) & ~np.isnan(numbers) & even
    side = np.where(numbers > nearest, _SINGLE(np.inf), _SINGLE(-np.inf))
    return np.where(inexact, np.nextafter(nearest, side), nearest)
