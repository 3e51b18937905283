"""bfloat16 numbers on processing elements that have them: which operation of the table an operation of the program is.

Changes of sign and absolute values are operations on words. Conversions that only widen an integer first, or cut the
integer that a conversion gives, are one conversion: the hardware's goes through 32 bits as the program's does. A
product and a sum that are rounded once, quotients, roots and functions are no operation of the elements.
"""

from __future__ import annotations

from collections.abc import Mapping

from compiler.bind.sums import WIDTH
from compiler.ir.expr import Cast, Expr, fold, is_floating, postorder, with_children
from compiler.ir.types import BFLOAT16, BIT, Float, Int, Type

__all__ = ["FLOAT_OPERATIONS", "MASKS", "has_floats", "legalize_floats", "without_operation"]

FLOAT_OPERATIONS: Mapping[str, str] = {
    name: f"f{name}" for name in ("add", "sub", "mul", "min", "max", "eq", "ne", "lt", "le", "gt", "ge")
} | {"select": "select", "pass": "pass"}
"""By operation of the program that of the elements."""

MASKS: Mapping[str, tuple[str, int]] = {"neg": ("xor", 0x8000), "abs": ("and", 0x7FFF)}
"""Operations that are one on words, with a constant."""

_REWRITES: Mapping[str, str] = {
    "mad": "write a * b + c, which rounds twice",
    "div": "multiply by the reciprocal, if that is a constant",
}


def without_operation(op: str) -> str:
    """Why the elements cannot compute operation `op`, and what can."""
    rewrite = f"{_REWRITES[op]}, or take" if op in _REWRITES else "take"
    return f"processing elements have no '{op}' of {BFLOAT16}; {rewrite} targets fpga or dataflow"


def has_floats(value: Expr) -> bool:
    """Whether there are floating-point numbers in an expression."""
    return any(map(is_floating, postorder(value)))


def legalize_floats(value: Expr) -> Expr:
    """`value` with single conversions in place of those by way of wider integers."""
    def step(node: Expr, parts: list[Expr]) -> Expr:
        node = with_children(node, parts)
        if not isinstance(node, Cast) or not isinstance(node.arg, Cast):
            return node
        inner = node.arg
        if isinstance(node.type, Float) and _widens(inner.arg.type, inner.type):
            return Cast(inner.arg, node.type)
        if isinstance(inner.arg.type, Float) and _cuts(inner.type, node.type):
            return Cast(inner.arg, node.type)
        return node

    return fold(value, step)


def _widens(narrow: Type, wide: Type) -> bool:
    return (isinstance(narrow, Int) and isinstance(wide, Int) and wide.minimum <= narrow.minimum
            and narrow.maximum <= wide.maximum)


def _cuts(wide: Type, narrow: Type) -> bool:
    """Whether a conversion to `wide` and its lower bits is one to `narrow`: both go through 32 bits."""
    return (isinstance(wide, Int) and isinstance(narrow, Int) and narrow != BIT
            and narrow.width <= min(WIDTH, wide.width) and (wide.width < 2 * WIDTH or wide == Int(2 * WIDTH)))
