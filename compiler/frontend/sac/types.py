"""Types of SA-C and the rules that find the type of an operation (Hammes 2000, sections 2.1 and 2.2).

Every scalar type has at most 32 bits, but for `double`. Numbers of the types ``bool``, ``bits``, ``int``, ``uint``,
``fix`` and ``ufix`` are held as integers: a ``fix16.10`` holds the number times 1024.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from compiler.ir.types import ProgramError

__all__ = ["BOOL", "DOUBLE", "FLOAT", "MOST_BITS", "SIZE", "Kind", "Scalar", "Type", "arithmetic_type",
           "bitwise_type", "literal_type", "parse_scalar"]

MOST_BITS = 32
"""Bits of the widest integer and fixed-point types (section 2.2)."""


class Kind(Enum):
    """Families of scalar types."""

    BOOL = "bool"
    BITS = "bits"
    INT = "int"
    UINT = "uint"
    FIX = "fix"
    UFIX = "ufix"
    FLOAT = "float"
    DOUBLE = "double"


_SIGNED = {Kind.INT, Kind.FIX}
_FIXED = {Kind.FIX, Kind.UFIX}
_FLOATING = {Kind.FLOAT, Kind.DOUBLE}


@dataclass(frozen=True)
class Scalar:
    """A scalar type of `width` bits, `fraction` of them behind the point."""

    kind: Kind
    width: int
    fraction: int = 0

    def __post_init__(self) -> None:
        if self.kind in _FLOATING:
            return
        if not 1 <= self.width <= MOST_BITS:
            raise ProgramError(f"type {self} has {self.width} bits; there are 1 to {MOST_BITS}")
        if not 0 <= self.fraction <= self.width:
            raise ProgramError(f"type {self} has more bits behind the point than bits")

    def __str__(self) -> str:
        if self.kind in _FLOATING or self.kind is Kind.BOOL:
            return self.kind.value
        return f"{self.kind.value}{self.width}" + (f".{self.fraction}" if self.kind in _FIXED else "")

    @property
    def signed(self) -> bool:
        """Whether the highest bit of the integer that holds a number counts negative."""
        return self.kind in _SIGNED

    @property
    def floating(self) -> bool:
        """Whether this is `float` or `double`."""
        return self.kind in _FLOATING

    @property
    def numeric(self) -> bool:
        """Whether there is arithmetic: not on ``bits``."""
        return self.kind is not Kind.BITS

    @property
    def whole(self) -> int:
        """Bits before the point, the sign's included."""
        return self.width - self.fraction

    @property
    def minimum(self) -> int:
        """The least integer that holds a number."""
        return -(1 << (self.width - 1)) if self.signed else 0

    @property
    def maximum(self) -> int:
        """The greatest integer that holds a number."""
        return (1 << (self.width - self.signed)) - 1


BOOL = Scalar(Kind.BOOL, 1)
FLOAT = Scalar(Kind.FLOAT, 32)
DOUBLE = Scalar(Kind.DOUBLE, 64)
SIZE = Scalar(Kind.UINT, 32)
"""The type of extents."""


@dataclass(frozen=True)
class Type:
    """A scalar (`extents` is empty), or an array with an extent, or None where it is unknown, for each dimension."""

    scalar: Scalar
    extents: tuple[int | None, ...] = ()

    def __str__(self) -> str:
        if not self.extents:
            return str(self.scalar)
        return f"{self.scalar}[{','.join(':' if e is None else str(e) for e in self.extents)}]"

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.extents)

    @property
    def is_array(self) -> bool:
        """Whether there are dimensions."""
        return bool(self.extents)

    def of(self, scalar: Scalar) -> Type:
        """An array of the same extents with other elements."""
        return Type(scalar, self.extents)

    def fits(self, other: Type) -> bool:
        """Whether a value of this type can be one of `other`: extents that are known on both sides are equal."""
        return (self.scalar == other.scalar and self.rank == other.rank
                and all(None in pair or pair[0] == pair[1] for pair in zip(self.extents, other.extents, strict=True)))


_NAME = re.compile(r"(?P<kind>bits|uint|int|ufix|fix)(?P<width>[0-9]+)(?:\.(?P<fraction>[0-9]+))?")
_WORDS = {"bool": BOOL, "float": FLOAT, "double": DOUBLE}


def parse_scalar(text: str) -> Scalar:
    """The scalar type that is written `text`. Raises `ProgramError` for a width that no type has."""
    if text in _WORDS:
        return _WORDS[text]
    match = _NAME.fullmatch(text)
    if match is None or ("fix" in match["kind"]) != (match["fraction"] is not None):
        raise ProgramError(f"'{text}' is no type; there are bool, bits5, int8, uint6, fix16.4, ufix8.8, float, double")
    return Scalar(Kind(match["kind"]), int(match["width"]), int(match["fraction"] or 0))


def arithmetic_type(left: Scalar, right: Scalar) -> Scalar:
    """The type in which ``+ - * / %`` compute (section 2.2): as many bits before and behind the point as the operands
    have at most, fewer behind it where these are more than 32 altogether; signed if one operand is.

    Raises `ProgramError` for ``bits``, which are no numbers.
    """
    for operand in (left, right):
        if not operand.numeric:
            raise ProgramError(f"{operand} has no arithmetic: cast it to a number, such as (uint{operand.width})")
    if left.floating or right.floating:
        return DOUBLE if DOUBLE in (left, right) else FLOAT
    whole = max(left.whole, right.whole)
    fraction = min(max(left.fraction, right.fraction), MOST_BITS - whole)
    signed = left.signed or right.signed
    if left.kind in _FIXED or right.kind in _FIXED:
        return Scalar(Kind.FIX if signed else Kind.UFIX, whole + fraction, fraction)
    return Scalar(Kind.INT if signed else Kind.UINT, whole)


def bitwise_type(left: Scalar, right: Scalar) -> Scalar:
    """The type of ``& | ^``: ``bool`` of two ``bool``, ``bits`` if one operand is, else as arithmetic has it.

    Raises `ProgramError` for fixed-point and floating-point numbers.
    """
    if left == right == BOOL:
        return BOOL
    for operand in (left, right):
        if operand.floating or operand.kind in _FIXED:
            raise ProgramError(f"{operand} has no bitwise operations: cast it to bits")
    if Kind.BITS in (left.kind, right.kind):
        return Scalar(Kind.BITS, max(left.width, right.width))
    return arithmetic_type(left, right)


def literal_type(text: str) -> Scalar:
    """The type of a number as it is written: the fewest bits that hold a whole number, as many bits as digits of a
    binary one, and `double` with a point or an exponent."""
    if text in ("true", "false"):
        return BOOL
    if text[:2] in ("0b", "0B"):
        return Scalar(Kind.BITS, len(text) - 2)
    if text[:2] not in ("0x", "0X") and any(c in text for c in ".eE"):
        return DOUBLE
    return Scalar(Kind.UINT, max(1, int(text, 0).bit_length()))
