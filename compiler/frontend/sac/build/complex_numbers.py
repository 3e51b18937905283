"""Arithmetic of complex numbers on their parts (Hammes 2000, section 2.1)."""

from __future__ import annotations

from compiler.frontend.sac.build.bundles import complex_of
from compiler.frontend.sac.build.values import Value, convert, imaginary_zero
from compiler.frontend.sac.ddcf.graph import GraphBuilder, Wire
from compiler.frontend.sac.errors import SacError
from compiler.frontend.sac.syntax import Place
from compiler.frontend.sac.types import BOOL, Kind, Scalar, Type, arithmetic_type
from compiler.ir.types import ProgramError

__all__ = ["complex_binary", "complex_negated"]


def complex_binary(graph: GraphBuilder, operator: str, left: Value, right: Value, place: Place) -> Value:
    """``+ - * / == !=`` where an operand is complex. Raises `SacError` for other operators."""
    if operator not in ("+", "-", "*", "/", "==", "!="):
        raise SacError(place, f"'{operator}' of {left} and {right}: complex numbers have + - * / == !=")
    try:
        scalar = arithmetic_type(left.type.scalar, right.type.scalar)
    except ProgramError as error:
        raise SacError(place, f"{left} and {right}: {error}") from None
    if not (scalar.signed or scalar.floating):
        scalar = Scalar(Kind.INT, scalar.width)
    parts = _Parts(graph, scalar, place)
    return parts.apply(operator, parts.split(left), parts.split(right))


def complex_negated(graph: GraphBuilder, value: Value, place: Place) -> Value:
    """0 - value."""
    scalar = value.type.scalar
    parts = _Parts(graph, scalar, place)
    if scalar.floating:
        return value.map(lambda wire: graph.add("NEG", [wire], [Type(scalar)], place)[0])
    zero = imaginary_zero(graph, value.wire, place)
    return value.map(lambda wire: parts.add("SUB", zero, wire))


class _Parts:
    """Operations of one type on the parts."""

    def __init__(self, graph: GraphBuilder, scalar: Scalar, place: Place) -> None:
        self.graph, self.scalar, self.place = graph, scalar, place

    def add(self, kind: str, left: Wire, right: Wire) -> Wire:
        return self.graph.add(kind, [left, right], [Type(self.scalar)], self.place)[0]

    def joined(self, real: Wire, imaginary: Wire) -> Value:
        return Value((real, imaginary), complex_of(self.scalar))

    def split(self, value: Value) -> tuple[Wire, Wire]:
        wires = convert(self.graph, value, self.scalar, self.place).wires
        return (wires[0], wires[1]) if len(wires) == 2 else (wires[0], imaginary_zero(self.graph, wires[0], self.place))

    def apply(self, operator: str, left: tuple[Wire, Wire], right: tuple[Wire, Wire]) -> Value:
        if operator in ("==", "!="):
            return self._compared(operator, left, right)
        if operator in ("+", "-"):
            kind = "ADD" if operator == "+" else "SUB"
            return self.joined(self.add(kind, left[0], right[0]), self.add(kind, left[1], right[1]))
        return self._product(left, right) if operator == "*" else self._quotient(left, right)

    def _compared(self, operator: str, left: tuple[Wire, Wire], right: tuple[Wire, Wire]) -> Value:
        kind, joined = ("EQ", "BIT_AND") if operator == "==" else ("NEQ", "BIT_OR")
        tests = [self.graph.add(kind, [a, b], [Type(BOOL)], self.place)[0]
                 for a, b in zip(left, right, strict=True)]
        return Value(tuple(self.graph.add(joined, tests, [Type(BOOL)], self.place)))

    def _product(self, left: tuple[Wire, Wire], right: tuple[Wire, Wire]) -> Value:
        (a, b), (c, d) = left, right
        return self.joined(self.add("SUB", self.add("MUL", a, c), self.add("MUL", b, d)),
                           self.add("ADD", self.add("MUL", a, d), self.add("MUL", b, c)))

    def _quotient(self, left: tuple[Wire, Wire], right: tuple[Wire, Wire]) -> Value:
        """The product with the conjugate, over the square of the divisor's absolute value."""
        c, d = right
        zero = imaginary_zero(self.graph, d, self.place)
        top = self._product(left, (c, self.add("SUB", zero, d)))
        below = self.add("ADD", self.add("MUL", c, c), self.add("MUL", d, d))
        return top.map(lambda wire: self.add("DIV", wire, below))
