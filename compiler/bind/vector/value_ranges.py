"""Ranges of values: what interval arithmetic knows about the result of an operation before it wraps."""

from __future__ import annotations

from collections.abc import Callable

from compiler.bind.vector.float_words import WORD_RANGES
from compiler.bind.vector.graph import Op, Value
from compiler.frontend.parallel_array.element_types import bounds

__all__ = ["Range", "exact_range", "range_of", "wrapped", "wraps"]

Range = tuple[int, int]


def range_of(value: Value) -> Range:
    """Bounds of an operand."""
    return (value, value) if isinstance(value, int) else (value.node.low, value.node.high)


def wraps(node: Op) -> bool:
    """Whether the exact result may exceed the type of `node`."""
    low, high = exact_range(node.operation, [range_of(o) for o in node.operands])
    least, greatest = bounds(node.dtype)
    return not least <= low <= high <= greatest


def wrapped(value: int, low: int, high: int) -> int:
    """`value` cut to the bits of a type with the numbers `low`..`high`."""
    return (value - low) % (high - low + 1) + low


def _corners(f: Callable[[int, int], int], a: Range, b: Range) -> Range:
    values = [f(x, y) for x in a for y in b]
    return min(values), max(values)


def _bits(*ranges: Range) -> int:
    return max(max(high.bit_length(), (-low - 1).bit_length() if low < 0 else 0) for low, high in ranges)


def _bitwise_and(a: Range, b: Range) -> Range:
    tops = [high for low, high in (a, b) if low >= 0]
    if tops:
        return 0, min(tops)
    return -(1 << _bits(a, b)), max(a[1], b[1])


def _bitwise_or(a: Range, b: Range) -> Range:
    top = (1 << _bits(a, b)) - 1
    return (0 if min(a[0], b[0]) >= 0 else -top - 1), top


def _left(a: Range, b: Range) -> Range:
    if b[0] < 0 or b[1] > 31:
        return -(1 << 64), 1 << 64
    return _corners(lambda x, y: x << y, a, b)


def _right(a: Range, b: Range) -> Range:
    if b[0] < 0:
        return min(a[0], 0), max(a[1], 0)
    low, high = min(b[0], 63), min(b[1], 63)
    return _corners(lambda x, y: x >> y, a, (low, high))


def _absolute(a: Range) -> Range:
    low, high = a
    return (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def _difference(a: Range, b: Range) -> Range:
    return _absolute((a[0] - b[1], a[1] - b[0]))


_BINARY: dict[str, Callable[[Range, Range], Range]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "subtract": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "multiply": lambda a, b: _corners(lambda x, y: x * y, a, b),
    "multiply_high": lambda a, b: _corners(lambda x, y: x * y >> 32, a, b),
    "left_shift": _left,
    "right_shift": _right,
    "bitwise_and": _bitwise_and,
    "bitwise_or": _bitwise_or,
    "bitwise_xor": _bitwise_or,
    "minimum": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "maximum": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "abs_difference": _difference,
    "equal": lambda a, b: (int(a[0] == a[1] == b[0] == b[1]), int(a[0] <= b[1] and b[0] <= a[1])),
    "not_equal": lambda a, b: (int(a[1] < b[0] or b[1] < a[0]), int(not a[0] == a[1] == b[0] == b[1])),
    "less": lambda a, b: (int(a[1] < b[0]), int(a[0] < b[1])),
    "less_equal": lambda a, b: (int(a[1] <= b[0]), int(a[0] <= b[1])),
}


def exact_range(operation: str, ranges: list[Range]) -> Range:
    """Bounds of the mathematical result of `operation` on operands in `ranges`."""
    match operation:
        case "convert" | "copy":
            return ranges[0]
        case "absolute":
            return _absolute(ranges[0])
        case "where":
            return min(ranges[1][0], ranges[2][0]), max(ranges[1][1], ranges[2][1])
        case "multiply_add":
            product = _corners(lambda x, y: x * y, ranges[1], ranges[2])
            return ranges[0][0] + product[0], ranges[0][1] + product[1]
        case _ if operation in WORD_RANGES:
            return WORD_RANGES[operation]
        case _:
            return _BINARY[operation](*ranges)
