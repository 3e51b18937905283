"""Element types: the integers of 8, 16 and 32 bits, bool, float32 and bfloat16; and how they combine.

Types combine as in numpy (NEP 50: a Python integer takes the type of the array), with these differences, because the
machine has no 64-bit integers:
- types whose common numpy type is int64 (uint32 with a signed type) do not combine: say which with `astype`;
- arrays of int64 and uint64 that are part of the program count as int32 or uint32 if their numbers fit;
- a sum of a narrow type is int32 (signed) or uint32 (unsigned, bool), where numpy's would be int64 or uint64;
- sums of float32 and bfloat16 have that type, added from the first element to the last with one rounding each;
- bool, the type of comparisons, counts as uint8 0 or 1 in arithmetic.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from compiler.frontend.parallel_array.location import Location

__all__ = ["BFLOAT16", "BOOL", "FLOAT32", "FLOATS", "TYPES", "bounds", "common_type", "element_type", "fit_scalar",
           "sum_type"]

BOOL = np.dtype(np.bool_)
FLOAT32 = np.dtype(np.float32)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = (FLOAT32, BFLOAT16)
TYPES = (BOOL, *(np.dtype(name) for name in ("int8", "int16", "int32", "uint8", "uint16", "uint32")), *FLOATS)


def element_type(dtype: Any, location: Location) -> np.dtype:
    """`dtype` as one of `TYPES`. Raises `ArrayError`."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        raise location.error(f"{dtype!r} is no element type") from None
    if found not in TYPES:
        raise location.error(f"unsupported type {found}: elements are {', '.join(map(str, TYPES))}")
    return found.newbyteorder("=")


def common_type(types: tuple[np.dtype, ...], location: Location) -> np.dtype:
    """The type to which operands of these types are converted. Raises `ArrayError` if there is none of 32 bits."""
    try:
        found = np.result_type(*types)
    except np.exceptions.DTypePromotionError:
        found = None
    if found is None or found not in TYPES:
        names = " and ".join(map(str, types))
        raise location.error(f"{names} have no common type of 32 bits: convert one with astype")
    return found


def sum_type(dtype: np.dtype) -> np.dtype:
    """The type of a sum of elements of `dtype`."""
    return dtype if dtype in FLOATS else np.dtype(np.int32 if dtype.kind == "i" else np.uint32)


def bounds(dtype: np.dtype) -> tuple[int, int]:
    """Least and greatest number of a type; of float32 and bfloat16 those of its patterns as int32 and int16."""
    if dtype == BOOL:
        return 0, 1
    info = np.iinfo(f"i{dtype.itemsize}" if dtype in FLOATS else dtype)
    return int(info.min), int(info.max)


def fit_scalar(value: float, dtype: np.dtype, location: Location) -> float:
    """`value` if the type holds it, rounded for fractions. Raises `ArrayError`, as numpy raises OverflowError."""
    if dtype in FLOATS:
        return value
    if not isinstance(value, int):
        raise location.error(f"the number {value} and {dtype} have no common type of 32 bits: convert with astype")
    low, high = bounds(dtype)
    if not low <= value <= high:
        raise location.error(f"the number {value} is out of the range of {dtype} ({low} to {high})")
    return value
