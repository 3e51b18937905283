"""Operations on SA-C's numbers as operations on bits (Hammes 2000, section 5.4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.frontend.sac.dfg.graph import DfgBuilder, Operand, Word
from compiler.frontend.sac.syntax import Place
from compiler.frontend.sac.types import BOOL, Kind, Scalar

__all__ = ["SQRT_BITS", "Arithmetic", "Number", "lossless", "root_shift"]

SQRT_BITS = 52
"""Bits of the widest operand of SQRT: the root of such a number in `double`, cut to an integer, is the exact one."""


@dataclass(frozen=True)
class Number:
    """Bits and the type that says what they mean."""

    bits: Operand
    scalar: Scalar


def lossless(source: Scalar, target: Scalar) -> bool:
    """Whether every number of `source` is one of `target`."""
    if Kind.BITS in (source.kind, target.kind) or source.signed > target.signed or target.kind is Kind.BOOL:
        return source == target
    return target.fraction >= source.fraction and target.whole - target.signed >= source.whole - source.signed


class Arithmetic:
    """Adds nodes to a graph, all at one place in the source."""

    def __init__(self, builder: DfgBuilder, place: Place | None) -> None:
        self.builder, self.place = builder, place

    def add(self, kind: str, operands: Sequence[Operand], width: int) -> Operand:
        """A node with one output."""
        return self.builder.add(kind, operands, [width], self.place)[0]

    def widened(self, value: Operand, width: int, has_sign: bool) -> Operand:
        """`value` in `width` bits: CHANGE_WIDTH, which `has_sign` makes extend the sign; nothing if it has them."""
        known = self.builder.width(value)
        if known == width:
            return value
        if isinstance(value, Word):
            extended = value.value - (1 << known) if has_sign and value.value >> (known - 1) else value.value
            return Word(extended % (1 << width), width)
        return self.add("CHANGE_WIDTH_SE" if has_sign else "CHANGE_WIDTH", [value], width)

    def moved(self, value: Operand, places: int, has_sign: bool) -> Operand:
        """`value` with `places` more bits behind the point, or fewer if negative; the width changes with them."""
        width = self.builder.width(value)
        if not places:
            return value
        if places > 0:
            return self.add("LEFT_SHIFT", [value, _amount(places)], width + places)
        kind = "IRIGHT_SHIFT" if has_sign else "URIGHT_SHIFT"
        return self.add(kind, [value, _amount(-places)], max(1, width + places))

    def cast(self, number: Number, target: Scalar) -> Number:
        """`number` converted, as `compiler.frontend.sac.arithmetic.cast` has it for types without floating point."""
        source, bits = number.scalar, number.bits
        if source == target:
            return number
        if Kind.BITS in (source.kind, target.kind):
            return Number(self.widened(bits, target.width, False), target)
        if target == BOOL:
            return Number(self.add("NEQ", [bits, Word(0, source.width)], 1), target)
        moved = self.moved(bits, target.fraction - source.fraction, source.signed)
        return Number(self.widened(moved, target.width, source.signed), target)

    def compared(self, kind: str, left: Number, right: Number) -> Number:
        """A comparison of the numbers, in bits that hold both."""
        has_sign = left.scalar.signed or right.scalar.signed
        fraction = max(left.scalar.fraction, right.scalar.fraction)
        whole = max(n.scalar.whole + (has_sign and not n.scalar.signed) for n in (left, right))
        sides = [self.widened(self.moved(n.bits, fraction - n.scalar.fraction, n.scalar.signed), whole + fraction,
                              n.scalar.signed) for n in (left, right)]
        name = kind if kind in ("EQ", "NEQ") else f"{'I' if has_sign else 'U'}{kind}"
        return Number(self.add(name, sides, 1), BOOL)

    def binary(self, kind: str, left: Number, right: Number, scalar: Scalar) -> Number:
        """An operation in type `scalar`, which both operands have (but the amount of a shift)."""
        if kind in ("ADD", "SUB") or kind == "RIGHT_SHIFT":
            kind = f"{'I' if scalar.signed else 'U'}{kind}"
        return Number(self.add(kind, [left.bits, right.bits], scalar.width), scalar)

    def product(self, left: Number, right: Number, scalar: Scalar) -> Number:
        """A product as circuits have it: as wide as both operands together, then cast (section 5.4.2.2). The operands
        may have any types of which `scalar` has all numbers."""
        has_sign = left.scalar.signed or right.scalar.signed
        sides = [n.bits if n.scalar.signed == has_sign else self.widened(n.bits, n.scalar.width + 1, False)
                 for n in (left, right)]
        width = sum(self.builder.width(side) for side in sides)
        wide = self.add("IMUL" if has_sign else "UMUL", sides, width)
        moved = self.moved(wide, scalar.fraction - left.scalar.fraction - right.scalar.fraction, has_sign)
        return Number(self.widened(moved, scalar.width, has_sign), scalar)

    def square_root(self, number: Number, target: Scalar) -> Number:
        """The root, cut to `target`: of an operand that has twice the bits behind the point (section 5.4.2.3), and 0
        of negative ones, as the cast of NaN is."""
        source = number.scalar
        if target == BOOL:
            return self.cast(number, BOOL)
        moved = self.moved(number.bits, root_shift(source, target), source.signed)
        width = self.builder.width(moved)
        root = self.add("SQRT", [self.widened(moved, width + width % 2, False)], (width + 1) // 2)
        found = self.widened(root, target.width, False)
        if source.signed:
            negative = self.add("ILT", [number.bits, Word(0, source.width)], 1)
            found = self.add("SELECTOR", [negative, Word(1, 1), Word(0, target.width), found], target.width)
        return Number(found, target)

    def selected(self, key: Operand, cases: Sequence[tuple[int, Operand]], default: Operand) -> Operand:
        """SELECTOR: the value of the case that is the key, which is given in its bits."""
        if not cases or all(value == default for _, value in cases):
            return default
        width = self.builder.width(key)
        pairs = [operand for case, value in cases for operand in (Word(case % (1 << width), width), value)]
        return self.add("SELECTOR", [key, *pairs, default], self.builder.width(default))


def root_shift(source: Scalar, target: Scalar) -> int:
    """Places by which the operand of SQRT moves so that its root has the bits behind the point of `target`."""
    return 2 * target.fraction - source.fraction


def _amount(places: int) -> Word:
    return Word(places, places.bit_length())
