"""Numbers in nested operations become one: ``(x + 5) - 3`` is ``x + 2``, ``x * 3 * 5`` is ``x * 15``.

Only inside one type: sums, products and left shifts wrap alike whichever number comes first. Right shifts and extrema
do not: what is inside them must not wrap.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.bind.vector.access import Access
from compiler.bind.vector.graph import Op, Value, seen_from
from compiler.bind.vector.value_ranges import wrapped, wraps
from compiler.frontend.parallel_array.element_types import bounds

__all__ = ["regrouped"]

_ALIKE = {"multiply": lambda a, b: a * b, "bitwise_and": lambda a, b: a & b, "bitwise_or": lambda a, b: a | b,
          "bitwise_xor": lambda a, b: a ^ b, "minimum": min, "maximum": max}
"""Operations whose operands may be grouped and swapped at will."""
_SHIFTS = ("left_shift", "right_shift")
_EXACT = ("right_shift", "minimum", "maximum")
"""Operations that may only be grouped if the inner one does not wrap."""


def regrouped(operation: str, operands: Sequence[Value], dtype: np.dtype) -> tuple[str, tuple[Value, Value]] | None:
    """An operation with one number for one on an operation that has another number; None if it is not that."""
    if operation in ("add", "subtract"):
        return _sum(operation, operands, dtype)
    if operation in _SHIFTS:
        return _shift(operation, operands, dtype)
    for value, other in (operands, operands[::-1]) if operation in _ALIKE else ():
        inner = _nested(value, (operation,), dtype)
        if inner and isinstance(other, int):
            rest, number = inner if isinstance(inner[1], int) else inner[::-1]
            if isinstance(number, int):
                return operation, (rest, wrapped(_ALIKE[operation](number, other), *bounds(dtype)))
    return None


def _nested(value: Value, operations: Sequence[str], dtype: np.dtype) -> list[Value] | None:
    """The operands of one of these operations of the same type."""
    if not isinstance(value, Access) or not isinstance(value.node, Op):
        return None
    if value.node.operation not in operations or value.node.dtype != dtype:
        return None
    return None if value.node.operation in _EXACT and wraps(value.node) else seen_from(value)


def _linear(value: Value, dtype: np.dtype) -> tuple[int, Value, int] | None:
    """What is a sum or a difference with a number: sign and value of the rest, and the number."""
    inner = _nested(value, ("add", "subtract"), dtype)
    if inner is None or not isinstance(value, Access) or not isinstance(value.node, Op):
        return None
    a, b = inner
    minus = value.node.operation == "subtract"
    if isinstance(b, int):
        return 1, a, -b if minus else b
    return (-1 if minus else 1, b, a) if isinstance(a, int) else None


def _sum(operation: str, operands: Sequence[Value], dtype: np.dtype) -> tuple[str, tuple[Value, Value]] | None:
    a, b = operands
    minus = operation == "subtract"
    if isinstance(b, int) and (found := _linear(a, dtype)):
        sign, rest, number = found
        number += -b if minus else b
    elif isinstance(a, int) and (found := _linear(b, dtype)):
        sign, rest, number = found
        sign, number = (-sign, a - number) if minus else (sign, a + number)
    else:
        return None
    number = wrapped(number, *bounds(dtype))
    return ("add", (rest, number)) if sign > 0 else ("subtract", (number, rest))


def _shift(operation: str, operands: Sequence[Value], dtype: np.dtype) -> tuple[str, tuple[Value, Value]] | None:
    inner, amount = _nested(operands[0], (operation,), dtype), operands[1]
    if inner is None or not isinstance(amount, int) or not isinstance(first := inner[1], int):
        return None
    fits = min(amount, first) >= 0 and amount + first < 8 * dtype.itemsize
    return (operation, (inner[0], amount + first)) if fits else None
