"""Exact number formats of arrays, tables and expression nodes.

Integers, and floating-point numbers of up to 64 bits, are complete; what floating-point operations compute is in
`compiler.ir.floating`. Fixed-point formats exist with their text form, so that arrays can carry them; operations on
them are refused (`compiler.ir.expr.result_type` raises `ProgramError`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from hw.errors import SluiceError

__all__ = ["BFLOAT16", "BIT", "FLOAT16", "FLOAT32", "FLOAT64", "INT16", "UINT16", "Fixed", "Float", "Int",
           "ProgramError", "Type", "element_type", "parse_type"]

MAXIMUM_WIDTH = 64


class ProgramError(SluiceError):
    """A program that means nothing, or data that does not fit it. Names the statement and the source line."""


@dataclass(frozen=True)
class Int:
    """Two's-complement (`signed`) or plain binary integers of `width` bits, 1 to 64; text form ``int16``, ``uint16``.

    One unsigned bit is the type of predicates and prints as ``bit``.
    """

    width: int
    signed: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.width <= MAXIMUM_WIDTH:
            raise ProgramError(f"integer width {self.width} is not in 1..{MAXIMUM_WIDTH}")

    def __str__(self) -> str:
        if self == BIT:
            return "bit"
        return f"{'int' if self.signed else 'uint'}{self.width}"

    @property
    def minimum(self) -> int:
        """Smallest value of the type."""
        return -(1 << (self.width - 1)) if self.signed else 0

    @property
    def maximum(self) -> int:
        """Largest value of the type."""
        return (1 << (self.width - self.signed)) - 1

    def contains(self, value: int) -> bool:
        """Whether `value` is representable without wrapping."""
        return self.minimum <= value <= self.maximum

    def wrap(self, value: Any) -> Any:
        """`value` (int, or array of int64 or of Python ints) modulo 2**width, as a value of the type."""
        if not self.signed:
            return value & self.maximum
        half = 1 << (self.width - 1)
        return ((value + half) & ((half << 1) - 1)) - half

    @property
    def dtype(self) -> np.dtype:
        """The smallest numpy integer type that holds the values: what inputs and outputs are exchanged in."""
        size = max(1, 1 << (self.width - 1).bit_length() >> 3)
        return np.dtype(f"{'i' if self.signed else 'u'}{size}")


@dataclass(frozen=True)
class Fixed:
    """Fixed-point numbers: `width` bits of which `fraction` are behind the point; ``fixed16.8``, ``ufixed16.8``."""

    width: int
    fraction: int
    signed: bool = True

    def __str__(self) -> str:
        return f"{'fixed' if self.signed else 'ufixed'}{self.width}.{self.fraction}"


@dataclass(frozen=True)
class Float:
    """IEEE 754 binary floating-point numbers: a sign, `exponent` bits and `mantissa` stored bits; ``float8.23``.

    Constants and table entries of the type are bit patterns, so that each is exactly one number.
    """

    exponent: int
    mantissa: int

    def __str__(self) -> str:
        return f"float{self.exponent}.{self.mantissa}"

    @property
    def width(self) -> int:
        """Bits of a number."""
        return 1 + self.exponent + self.mantissa

    @property
    def infinity(self) -> int:
        """The bit pattern of plus infinity: all bits of the exponent."""
        return ((1 << self.exponent) - 1) << self.mantissa

    @property
    def computable(self) -> bool:
        """Whether there is arithmetic on the type: what C's ``double`` contains."""
        return 2 <= self.exponent <= FLOAT64.exponent and 2 <= self.mantissa <= FLOAT64.mantissa

    @property
    def single(self) -> bool:
        """Whether numpy's float32 contains the type."""
        return self.exponent <= FLOAT32.exponent and self.mantissa <= FLOAT32.mantissa

    @property
    def dtype(self) -> np.dtype:
        """What inputs and outputs are exchanged in: the first of float32 and float64 that contains the type."""
        return np.dtype(np.float32 if self.single else np.float64)

    def contains(self, pattern: int) -> bool:
        """Whether `pattern` is a bit pattern of the type."""
        return 0 <= pattern < 1 << self.width


Type = Int | Fixed | Float

BIT = Int(1, signed=False)
UINT16 = Int(16, signed=False)
INT16 = Int(16, signed=True)
FLOAT16 = Float(5, 10)
BFLOAT16 = Float(8, 7)
FLOAT32 = Float(8, 23)
FLOAT64 = Float(11, 52)
"""C's ``double``."""

_TEXT = re.compile(r"(?P<kind>u?int|u?fixed|float)(?P<first>\d+)(?:\.(?P<second>\d+))?")


def parse_type(text: str) -> Type:
    """The type whose text form is `text`. Raises `ProgramError` for anything else."""
    if text == "bit":
        return BIT
    match = _TEXT.fullmatch(text)
    if match is None or match["kind"].endswith("int") != (match["second"] is None):
        raise ProgramError(f"'{text}' is not a type; examples: uint16, int8, bit, fixed16.8, float8.23")
    first, signed = int(match["first"]), not match["kind"].startswith("u")
    if match["kind"] == "float":
        return Float(first, int(match["second"]))
    return Int(first, signed) if match["second"] is None else Fixed(first, int(match["second"]), signed)


_NAMES = {"bfloat16": BFLOAT16, "float16": FLOAT16, "float32": FLOAT32, "float64": FLOAT64}


def element_type(given: Any, where: str) -> Int | Float:
    """The type that a user means: a type itself, its name (``uint16``, ``bfloat16``, ``float5.10``) or a numpy dtype.
    Raises `ProgramError`, which `where` opens, for anything that nothing computes with."""
    found = given
    if not isinstance(given, Int | Fixed | Float):
        name = given if isinstance(given, str) else _dtype_name(given)
        try:
            found = _NAMES.get(name) or (BIT if name == "bool" else parse_type(name))
        except ProgramError:
            raise ProgramError(f"{where}: {given!r} is no type of numbers; there are types like uint16, int8, bit, "
                               "bfloat16, float32, float5.10 and numpy's dtypes of these") from None
    if isinstance(found, Fixed) or (isinstance(found, Float) and not found.computable):
        rewrite = (f"; take {Int(found.width, found.signed)}, and shift products right by {found.fraction} bits"
                   if isinstance(found, Fixed) else "")
        raise ProgramError(f"{where}: nothing computes with {found}; there are integers of up to {MAXIMUM_WIDTH} bits "
                           f"and floating-point numbers within {FLOAT64}{rewrite}")
    return found


def _dtype_name(given: Any) -> str:
    try:
        return np.dtype(given).name
    except TypeError:
        return ""
