"""Halide's scalar types as types of the intermediate representation."""

from __future__ import annotations

from compiler.frontend.halide.errors import PipelineError
from compiler.frontend.halide.nodes import HalideType
from compiler.ir.types import BIT, FLOAT16, FLOAT32, FLOAT64, Float, Int

__all__ = ["INDEX", "Number", "number_type"]

Number = Int | Float

INDEX = Int(32)
"""The type of coordinates."""

_FLOATS = {16: FLOAT16, 32: FLOAT32, 64: FLOAT64}


def number_type(type: HalideType) -> Number:
    """The type of the same values. Raises `PipelineError` if there is none, without saying where."""
    if type.code in ("int", "uint") and type.bits in (1, 8, 16, 32, 64):
        return BIT if type.bits == 1 else Int(type.bits, type.code == "int")
    if type.code == "float" and type.bits in _FLOATS:
        return _FLOATS[type.bits]
    raise PipelineError(f"values of type {type} cannot be computed; types are int8 to int64, uint8 to uint64, bool, "
                        "float16, float32 and float64: cast to one of these")
