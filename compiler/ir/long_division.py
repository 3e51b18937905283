"""Division by what is no constant without a divider: one comparison and subtraction for each bit of the quotient.

From the highest bit on, the divisor's multiple by that bit is compared with what is left of the dividend, and taken
away where it fits. Nothing gets wider than a word: multiples that would are cut, or the dividend is shifted to the
divisor. Only a subtraction and a minimum for each bit wait for those of the bit before. Rounding is towards zero as in
C; division by zero gives what `hw.ops.DIVISIONS` says.
"""

from __future__ import annotations

from compiler.ir.constant_division import constant_divisor
from compiler.ir.expr import LUT3_TABLE, Apply, Cast, Const, Expr, apply, converted, fold, postorder, with_children
from compiler.ir.ranges import Range, type_range, value_range
from compiler.ir.types import BIT, Int
from hw.ops import DIVISIONS

__all__ = ["divides", "without_dividers"]

_DIFFERENT = 0x66
"""Truth table of ``p ^ q``."""


def divides(node: Expr) -> bool:
    """Whether `node` divides integers by what is no constant that `constant_divisor` has nothing against."""
    return (isinstance(node, Apply) and node.op in DIVISIONS and isinstance(node.type, Int)
            and constant_divisor(node) is None)


def without_dividers(value: Expr, width: int | None = None) -> Expr:
    """`value` with every division of integers of up to `width` bits by what is no constant in operations on words of
    that width (None: of all, each at its own width): about seven for each bit that the quotient may have, by the types
    of what is read."""
    if not any(map(divides, postorder(value))):
        return value
    ranges: dict[int, Range] = {}

    def measured(node: Expr, arguments: list[Range]) -> Range:
        known = isinstance(node, Apply | Cast | Const)
        ranges[id(node)] = value_range(node, arguments, [], {}, {}) if known else type_range(node.type)
        return ranges[id(node)]

    def step(node: Expr, arguments: list[Expr]) -> Expr:
        if not (isinstance(node, Apply) and divides(node) and isinstance(node.type, Int)):
            return with_children(node, arguments)
        word = Int(width or node.type.width, False)
        if node.type.width > word.width:
            return with_children(node, arguments)
        dividend, divisor = (ranges[id(argument)] for argument in node.args)
        return _Division(node.type, word, dividend, divisor).result(node.op, *arguments)

    fold(value, measured)
    return fold(value, step)


class _Division:
    """Divisions of values of `type` in the given ranges, computed on `word`, which has no sign."""

    def __init__(self, type: Int, word: Int, dividend: Range, divisor: Range) -> None:
        self.type, self.word = type, word
        self.dividend, self.divisor = dividend, divisor

    def result(self, op: str, dividend: Expr, divisor: Expr) -> Expr:
        """The quotient or the remainder."""
        rest, taken = self._magnitude(dividend, self.dividend), self._magnitude(divisor, self.divisor)
        quotient: Expr = Const(0, self.word)
        for bit in reversed(range(self._bits())):
            fits, rest = self._step(rest, taken, bit)
            quotient = apply("add", quotient, apply("select", fits, Const(1 << bit, self.word), Const(0, self.word)))
        if op == "rem":
            return converted(self._signed(rest, self._negative(dividend, self.dividend)), self.type)
        signs = [self._negative(dividend, self.dividend), self._negative(divisor, self.divisor)]
        found = self._signed(quotient, self._differ(*signs))
        if self.divisor[0] <= 0 <= self.divisor[1]:
            nothing = apply("eq", taken, Const(0, self.word))
            found = apply("select", nothing, Const(self.word.maximum, self.word), found)
        return converted(found, self.type)

    def _step(self, rest: Expr, taken: Expr, bit: int) -> tuple[Expr, Expr]:
        """Whether the divisor fits at this bit, and what is left. Where what is left never reaches a multiple that has
        too many bits for a word, a multiple is cut to those that it can have: what is less than it is so, too. What is
        taken from less than it wraps to more, so the minimum needs no comparison to be there before."""
        most = self.word.maximum >> bit
        if max(map(abs, self.dividend)) >= most << bit:
            fits = apply("ge", self._shifted("shr", rest, bit), taken)
            return fits, apply("select", fits, apply("sub", rest, self._shifted("shl", taken, bit)), rest)
        if max(map(abs, self.divisor)) > most:
            taken = apply("min", taken, Const(most, self.word))
        multiple = self._shifted("shl", taken, bit)
        return apply("ge", rest, multiple), apply("min", rest, apply("sub", rest, multiple))

    def _bits(self) -> int:
        """Of the largest quotient."""
        largest = max(map(abs, self.dividend))
        least = 1 if self.divisor[0] <= 0 <= self.divisor[1] else min(map(abs, self.divisor))
        return (largest // least).bit_length()

    def _magnitude(self, value: Expr, known: Range) -> Expr:
        signed = Int(self.word.width, True)
        if known[0] >= 0:
            return converted(value, self.word)
        return Cast(apply("abs", converted(value, signed)), self.word)

    def _negative(self, value: Expr, known: Range) -> Expr | None:
        """Whether the value is, None if it never is."""
        return apply("lt", value, Const(0, self.type)) if known[0] < 0 else None

    def _differ(self, first: Expr | None, second: Expr | None) -> Expr | None:
        if first is None or second is None:
            return first or second
        return apply("lut3", Const(_DIFFERENT, LUT3_TABLE), first, second, Const(0, BIT))

    def _signed(self, magnitude: Expr, negative: Expr | None) -> Expr:
        if negative is None:
            return magnitude
        return apply("select", negative, apply("sub", Const(0, self.word), magnitude), magnitude)

    def _shifted(self, op: str, value: Expr, amount: int) -> Expr:
        return apply(op, value, Const(amount, self.word)) if amount else value
