"""Formats, roundings, and what an operator is built from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from hw.errors import SluiceError

__all__ = ["LONGEST", "Float", "FloatError", "FloatSpec", "Integer", "Rounding"]

LONGEST = 64
"""Cycles that an operator can take."""

_SMALLEST, _WIDEST = 2, (15, 112)
"""Bits that exponents and mantissas have at least, and at most."""


class FloatError(SluiceError):
    """An operator that cannot be built."""


class Rounding(Enum):
    """Which of two neighbours stands for a number between them: IEEE 754, 4.3."""

    NEAREST_EVEN = "nearest_even"
    NEAREST_AWAY = "nearest_away"
    ZERO = "zero"
    UP = "up"
    DOWN = "down"


@dataclass(frozen=True)
class Integer:
    """Integers of `width` bits that conversions take or give."""

    width: int
    signed: bool = True


@dataclass(frozen=True)
class Float:
    """A sign, `exponent` bits and `mantissa` stored bits, in the standard's order, the sign on top. All ones in the
    exponent are infinities and what is no number."""

    exponent: int
    mantissa: int

    def __post_init__(self) -> None:
        for name, bits, most in (("exponent", self.exponent, _WIDEST[0]), ("mantissa", self.mantissa, _WIDEST[1])):
            if not _SMALLEST <= bits <= most:
                raise FloatError(f"floating-point numbers with {bits} bits of {name}: there are {_SMALLEST}..{most}")

    @property
    def width(self) -> int:
        """Bits of a number."""
        return 1 + self.exponent + self.mantissa

    @property
    def bias(self) -> int:
        """What is added to exponents."""
        return (1 << self.exponent - 1) - 1

    @property
    def infinity(self) -> int:
        """The magnitude of infinity."""
        return ((1 << self.exponent) - 1) << self.mantissa

    @property
    def nan(self) -> int:
        """The one quiet not-a-number that results have."""
        return self.infinity | 1 << self.mantissa - 1


@dataclass(frozen=True)
class FloatSpec:
    """An operator.

    `op`: one of `hw.float.FLOAT_OPERATIONS`, with the names of `hw.ops`; ``mad`` rounds its product and sum once.
    `form`: the operands' format, for ``cast`` that of its one operand, which may be an `Integer`. `to`: the format that
    ``cast`` gives. `latency`: cycles from operands to result, 0..64. `rounding`: of results that are floating-point
    numbers; conversions to integers round towards zero. Without `subnormals`, operands below the smallest normal
    number count as zero, and so do exact results there before they are rounded; signs stay.

    Raises `FloatError` for what there is not.
    """

    op: str
    form: Float | Integer
    latency: int = 0
    to: Float | Integer | None = None
    rounding: Rounding = Rounding.NEAREST_EVEN
    subnormals: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.latency <= LONGEST:
            raise FloatError(f"an operator of {self.latency} cycles: they take 0..{LONGEST}")
        if (self.to is not None) != (self.op == "cast"):
            raise FloatError(f"operator '{self.op}': 'cast' names a format to convert to, others do not")
        if isinstance(self.form, Integer) and not isinstance(self.to, Float):
            raise FloatError(f"operator '{self.op}' on {self.form} has nothing to do with floating-point numbers")

    @property
    def number(self) -> Float:
        """The format in which it computes: that of the result if this is one of floating-point numbers."""
        chosen = self.to if isinstance(self.to, Float) else self.form
        assert isinstance(chosen, Float)
        return chosen
