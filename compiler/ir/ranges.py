"""Value ranges: an interval that contains every value an expression can have.

Ranges are of the values themselves, after they have wrapped. An operation whose exact result may leave its type has the
range of the type. Of floating-point numbers nothing is known: they have the range of their bit patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compiler.ir.expr import Apply, Cast, Const, Expr, Iterator, Load, Lookup, Read, Store, is_floating
from compiler.ir.types import Float, Int, Type

__all__ = ["Range", "difference_range", "hull", "sum_range", "type_range", "value_range"]

Range = tuple[int, int]
"""Smallest and largest value."""


def type_range(type: Type) -> Range:
    """All values of an integer `type`, all bit patterns of a floating-point one."""
    if isinstance(type, Float):
        return 0, (1 << type.width) - 1
    assert isinstance(type, Int)
    return type.minimum, type.maximum


def hull(*ranges: Range) -> Range:
    """The smallest range that contains all `ranges`."""
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def value_range(node: Expr, arguments: list[Range], reads: list[Range], iterators: Mapping[str, Range],
                tables: Mapping[str, Range]) -> Range:
    """The range of `node`, whose children have the ranges `arguments`."""
    if is_floating(node):
        return type_range(node.type)
    match node:
        case Const(value, _):
            return value, value
        case Read(index, type):
            return _clipped(reads[index], type)
        case Iterator(name, type):
            return _clipped(iterators[name], type)
        case Lookup(table, _, _):
            return tables[table]
        case Load() | Store():
            return type_range(node.type)
        case Cast(_, type):
            return _clipped(arguments[0], type)
    words = [argument for argument, arg in zip(arguments, node.args, strict=True) if _is_word(node, arg)]
    rule = _RULES.get(node.op)
    return type_range(node.type) if rule is None else _clipped(rule(_width(node), words), node.type)


def _is_word(node: Apply, arg: Expr) -> bool:
    """Only the condition of a selection is no word among the operations that have a rule."""
    return node.op != "select" or arg is not node.args[0]


def _width(node: Apply) -> int:
    type = node.args[-1].type
    assert isinstance(type, Int)
    return type.width


def _clipped(exact: Range, type: Type) -> Range:
    """`exact` if all of it is in the type, else all of the type, since it wraps."""
    low, high = type_range(type)
    return exact if low <= exact[0] and exact[1] <= high else (low, high)


def _corners(operation: Callable[[int, int], int], a: Range, b: Range) -> Range:
    """The range of an operation that takes its extremes at the ends of its operands' ranges."""
    values = [operation(x, y) for x in a for y in b]
    return min(values), max(values)


def _product(a: Range, b: Range) -> Range:
    return _corners(lambda x, y: x * y, a, b)


def sum_range(a: Range, b: Range) -> Range:
    """The range of a sum that does not wrap."""
    return a[0] + b[0], a[1] + b[1]


def difference_range(a: Range, b: Range) -> Range:
    """The range of a difference that does not wrap."""
    return a[0] - b[1], a[1] - b[0]


def _absolute(a: Range) -> Range:
    low = 0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1]))
    return low, max(abs(a[0]), abs(a[1]))


def _left(width: int, a: Range, b: Range) -> Range:
    if not 0 <= b[0] <= b[1] < width:
        return -(1 << 2 * width), 1 << 2 * width
    return _corners(lambda x, y: x << y, a, b)


def _right(width: int, a: Range, b: Range) -> Range:
    if not 0 <= b[0] <= b[1] < width:
        return hull(a, (-1, 0) if a[0] < 0 else (0, 0))
    return _corners(lambda x, y: x >> y, a, b)


def _and(width: int, a: Range, b: Range) -> Range:
    """Not above either operand that is never negative."""
    highs = [high for low, high in (a, b) if low >= 0]
    return (0, min(highs)) if highs else _bits(a, b)


def _bits(a: Range, b: Range) -> Range:
    """What as many bits as the operands have can hold."""
    low, high = hull(a, b)
    size = max(high, ~low if low < 0 else 0).bit_length()
    return (-(1 << size) if low < 0 else 0), (1 << size) - 1


def _or(width: int, a: Range, b: Range) -> Range:
    low, high = _bits(a, b)
    return (max(a[0], b[0]) if low == 0 else low), high


def _quotient(width: int, a: Range, b: Range) -> Range:
    """Rounded towards zero; nothing is known of a division by zero."""
    if b[0] <= 0 <= b[1]:
        return -(1 << width), 1 << width
    return _corners(lambda x, y: abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1), a, b)


def _remainder(a: Range, b: Range) -> Range:
    """Of the sign of the dividend and less than the divisor; the dividend itself where that is zero."""
    if b[0] <= 0 <= b[1]:
        return min(a[0], 0), max(a[1], 0)
    most = max(map(abs, b)) - 1
    return max(min(a[0], 0), -most), min(max(a[1], 0), most)


_RULES: dict[str, Callable[[int, list[Range]], Range]] = {
    "pass": lambda w, r: r[0],
    "add": lambda w, r: sum_range(r[0], r[1]),
    "sub": lambda w, r: difference_range(r[0], r[1]),
    "mul": lambda w, r: _product(r[0], r[1]),
    "mad": lambda w, r: sum_range(_product(r[0], r[1]), r[2]),
    "mul_mid": lambda w, r: (_product(r[0], r[1])[0] >> w // 2, _product(r[0], r[1])[1] >> w // 2),
    "mul_high": lambda w, r: (_product(r[0], r[1])[0] >> w, _product(r[0], r[1])[1] >> w),
    "div": lambda w, r: _quotient(w, r[0], r[1]),
    "rem": lambda w, r: _remainder(r[0], r[1]),
    "shl": lambda w, r: _left(w, r[0], r[1]),
    "shr": lambda w, r: _right(w, r[0], r[1]),
    "and": lambda w, r: _and(w, r[0], r[1]),
    "or": lambda w, r: _or(w, r[0], r[1]),
    "xor": lambda w, r: _bits(r[0], r[1]),
    "min": lambda w, r: (min(r[0][0], r[1][0]), min(r[0][1], r[1][1])),
    "max": lambda w, r: (max(r[0][0], r[1][0]), max(r[0][1], r[1][1])),
    "abs": lambda w, r: _absolute(r[0]),
    "absd": lambda w, r: _absolute(difference_range(r[0], r[1])),
    "select": lambda w, r: hull(r[0], r[1]),
    "eq": lambda w, r: _truth(r[0][0] == r[0][1] == r[1][0] == r[1][1], r[0][1] < r[1][0] or r[1][1] < r[0][0]),
    "ne": lambda w, r: _truth(r[0][1] < r[1][0] or r[1][1] < r[0][0], r[0][0] == r[0][1] == r[1][0] == r[1][1]),
    "lt": lambda w, r: _truth(r[0][1] < r[1][0], r[0][0] >= r[1][1]),
    "ge": lambda w, r: _truth(r[0][0] >= r[1][1], r[0][1] < r[1][0]),
    "gt": lambda w, r: _truth(r[0][0] > r[1][1], r[0][1] <= r[1][0]),
    "carry": lambda w, r: (0, 0) if r[0][0] >= 0 and r[1][0] >= 0 and r[0][1] + r[1][1] < 1 << w else (0, 1),
    "adc": lambda w, r: sum_range(sum_range(r[0], r[1]), r[2]),
    "sbb": lambda w, r: difference_range(difference_range(r[0], r[1]), r[2]),
    "le": lambda w, r: _truth(r[0][1] <= r[1][0], r[0][0] > r[1][1]),
}


def _truth(always: bool, never: bool) -> Range:
    return (1, 1) if always else (0, 0) if never else (0, 1)
