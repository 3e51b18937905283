"""Expressions of whole numbers alone: they are exact, whatever the bits of their parts, as in `1 + 2 * 3`."""

from __future__ import annotations

from collections.abc import Callable

from compiler.frontend.sac.build.values import Value, constant_value
from compiler.frontend.sac.errors import SacError
from compiler.frontend.sac.syntax import Binary, Expression, Literal, Unary
from compiler.frontend.sac.types import MOST_BITS, Kind, Scalar

__all__ = ["build_constant"]

_MOST_SHIFTED = 64


def _quotient(left: int, right: int) -> int:
    """Rounded towards 0, as in C."""
    size = abs(left) // abs(right)
    return -size if (left < 0) != (right < 0) else size


_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": int.__add__, "-": int.__sub__, "*": int.__mul__, "/": _quotient,
    "%": lambda left, right: left - right * _quotient(left, right), "&": int.__and__, "|": int.__or__,
    "^": int.__xor__, "<<": int.__lshift__, ">>": int.__rshift__,
}


def build_constant(node: Expression) -> Value | None:
    """The number of an expression that has only decimal or hexadecimal numbers in it, in the fewest bits that hold it;
    None for other expressions. Raises `SacError` for a number of more than 32 bits, and for a division by zero."""
    number = _exact(node)
    if number is None:
        return None
    signed = number < 0
    width = max(1, (-number - 1 if signed else number).bit_length() + signed)
    if width > MOST_BITS:
        raise SacError(node.place, f"{number} has more than {MOST_BITS} bits")
    return constant_value(number, Scalar(Kind.INT if signed else Kind.UINT, width))


def _exact(node: Expression) -> int | None:
    if isinstance(node, Literal):
        whole = node.text[:2] in ("0x", "0X") or node.text.isdigit()
        return int(node.text, 0 if not node.text.isdigit() else 10) if whole else None
    if isinstance(node, Unary) and node.operator in "+-":
        inner = _exact(node.operand)
        return inner if inner is None or node.operator == "+" else -inner
    if not isinstance(node, Binary) or node.operator not in _OPERATORS:
        return None
    left, right = _exact(node.left), _exact(node.right)
    if left is None or right is None:
        return None
    if node.operator in "/%" and right == 0:
        raise SacError(node.place, "division by zero")
    if node.operator in ("<<", ">>") and not 0 <= right <= _MOST_SHIFTED:
        raise SacError(node.place, f"a shift by {right} bits; amounts are 0 to {_MOST_SHIFTED}")
    return _OPERATORS[node.operator](left, right)
