"""Division and remainder by constants as products and shifts, which hardware has.

An integer ``x / c`` is ``x * m >> s`` with m the first integer from ``2**s / c`` on, if that is near enough to the
fraction for all numbers that x can be (H. S. Warren, "Hacker's Delight", 2nd edition, chapter 10). The shift of a
negative product rounds down, and SA-C rounds towards 0: one more for negative numbers.
"""

from __future__ import annotations

from compiler.frontend.sac.ddcf.graph import Constant, Node, Operand
from compiler.frontend.sac.passes.ranges import is_whole
from compiler.frontend.sac.passes.rewrite import Rebuilt, Rewriter
from compiler.frontend.sac.syntax import Place
from compiler.frontend.sac.types import BOOL, MOST_BITS, SIZE, Kind, Scalar, Type

__all__ = ["DivideByConstants", "reciprocal"]


class DivideByConstants(Rewriter):
    """``x / c`` and ``x % c`` of integers by constants, if all products fit into 32 bits."""

    def node(self, out: Rebuilt, node: Node) -> list[Operand]:
        node = self.within(out, node)
        if node.kind not in ("DIV", "MOD") or not is_whole(node.outputs[0]):
            return out.add(node)
        divisor = node.operands[1]
        if not isinstance(divisor, Constant) or not divisor.value:
            return out.add(node)
        quotient = _Quotient(out, node, int(divisor.value)).operand()
        if quotient is None:
            self.report.refused("divisions", node.place, "products with its reciprocal have more than 32 bits")
            return out.add(node)
        if node.kind == "DIV":
            return [quotient]
        (multiple,) = out.add(_like(node, "MUL", quotient, divisor))
        return out.add(_like(node, "SUB", node.operands[0], multiple))


def reciprocal(divisor: int, most: int, signed: bool) -> tuple[int, int] | None:
    """Factor and shift with which numbers of a size up to `most` are divided, the fewest bits that do; None if
    products do not fit. A signed reciprocal is too large by a little, so that multiples end below them."""
    for shift in range(MOST_BITS):
        factor = (1 << shift) // divisor + 1 if signed else -(-(1 << shift) // divisor)
        if (factor * divisor - (1 << shift)) * most < 1 << shift:
            return (factor, shift) if (factor * most).bit_length() + signed <= MOST_BITS else None
    return None


def _like(node: Node, kind: str, *operands: Operand) -> Node:
    return Node(kind, operands, node.outputs, (), (), node.place)


class _Quotient:
    """``x / divisor``, in the type that the node has."""

    def __init__(self, out: Rebuilt, node: Node, divisor: int) -> None:
        self.out, self.node, self.divisor = out, node, divisor
        self.value = node.operands[0]
        self.scalar = node.outputs[0].scalar
        self.place: Place | None = node.place

    def operand(self) -> Operand | None:
        """None if there is none in 32 bits."""
        source = self._narrowest()
        most = -source.minimum if source.signed else source.maximum
        found = reciprocal(abs(self.divisor), most, source.signed)
        if found is None:
            return None
        factor, shift = found
        bits = (factor * most).bit_length()
        wide = Scalar(Kind.INT, bits + 1) if source.signed else Scalar(Kind.UINT, bits)
        number = self._cast(Constant(factor, Scalar(Kind.UINT, factor.bit_length())), wide)
        product = self._add("MUL", wide, self._cast(self.value, wide), number)
        shifted = self._add("RIGHT_SHIFT", wide, product, Constant(shift, SIZE))
        quotient = self._cast(shifted, self.scalar)
        if source.signed:
            below = self._add("LT", BOOL, self.value, Constant(0, self.scalar))
            quotient = self._add("ADD", self.scalar, quotient, self._cast(below, self.scalar))
        return quotient if self.divisor > 0 else self._add("SUB", self.scalar, Constant(0, self.scalar), quotient)

    def _narrowest(self) -> Scalar:
        """The type that the dividend had before a cast that keeps its value."""
        made = self.out.producer(self.value)
        if made is None or made.kind != "CAST":
            return self.scalar
        type_ = self.out.type(made.operands[0])
        inside = self.scalar.minimum <= type_.scalar.minimum and type_.scalar.maximum <= self.scalar.maximum
        if not is_whole(type_) or type_.scalar.kind not in (Kind.INT, Kind.UINT) or not inside:
            return self.scalar
        return type_.scalar

    def _cast(self, value: Operand, scalar: Scalar) -> Operand:
        return value if self.out.type(value).scalar == scalar else self._add("CAST", scalar, value)

    def _add(self, kind: str, scalar: Scalar, *operands: Operand) -> Operand:
        return self.out.add(Node(kind, operands, (Type(scalar),), (), (), self.place))[0]
