"""Division and remainder by constants without a divider, rounding towards zero as C does.

Powers of two are shifts with a correction for negative numbers. Other divisors multiply by a scaled reciprocal and
keep the upper half (H. S. Warren, "Hacker's Delight", 2nd edition, sections 10-4 and 10-9); a dividend that is never
large can do with a shorter reciprocal.
"""

from __future__ import annotations

from compiler.ir.expr import Apply, Const, Expr, apply, fold, with_children
from compiler.ir.types import Int
from hw.ops import DIVISIONS

__all__ = ["check_divisor", "constant_divisor", "quotient", "reciprocal", "remainder", "without_divisions"]


def check_divisor(type: Int, divisor: int) -> str | None:
    """Why values of `type` cannot be divided by `divisor`, None if they can."""
    if divisor == 0:
        return "division by zero"
    if divisor < 0 and divisor == type.minimum:
        return "the most negative number cannot be a divisor"
    return None


def constant_divisor(node: Expr) -> int | None:
    """By what a division or remainder of integers divides, if that is a constant that `check_divisor` has nothing
    against."""
    if isinstance(node, Apply) and node.op in DIVISIONS and isinstance(node.type, Int):
        divisor = node.args[1]
        if isinstance(divisor, Const) and check_divisor(node.type, divisor.value) is None:
            return divisor.value
    return None


def without_divisions(value: Expr) -> Expr:
    """`value` with every division by a constant in operations that processing elements have."""

    def step(node: Expr, args: list[Expr]) -> Expr:
        divisor = constant_divisor(node)
        if divisor is None or not isinstance(node, Apply):
            return with_children(node, args)
        return quotient(args[0], divisor) if node.op == "div" else remainder(args[0], divisor)

    return fold(value, step)


def quotient(value: Expr, divisor: int, most: int | None = None) -> Expr:
    """``value / divisor`` in the type of `value`, for a divisor that `check_divisor` lets pass. `most`: what unsigned
    values do not exceed."""
    if divisor < 0:
        return apply("sub", Const(0, value.type), quotient(value, -divisor))
    if divisor & (divisor - 1) == 0:
        return _shifted(value, divisor)
    if _integer(value).signed:
        return _reciprocal_signed(value, divisor)
    return _reciprocal_small(value, divisor, most) or _reciprocal_unsigned(value, divisor)


def remainder(value: Expr, divisor: int, most: int | None = None) -> Expr:
    """``value % divisor``: has the sign of `value`. Arguments as of `quotient`."""
    divisor = abs(divisor)
    if divisor & (divisor - 1) == 0:
        bias, mask = _bias(value, divisor), Const(divisor - 1, value.type)
        return _subtract(apply("and", _add(value, bias), mask), bias)
    return apply("sub", value, apply("mul", quotient(value, divisor, most), Const(divisor, value.type)))


def _integer(node: Expr) -> Int:
    assert isinstance(node.type, Int)
    return node.type


def _add(value: Expr, other: Expr) -> Expr:
    return value if other == Const(0, value.type) else apply("add", value, other)


def _subtract(value: Expr, other: Expr) -> Expr:
    return value if other == Const(0, value.type) else apply("sub", value, other)


def _shift(value: Expr, amount: int) -> Expr:
    return apply("shr", value, Const(amount, value.type)) if amount else value


def _sign(value: Expr) -> Expr:
    """-1 where a signed value is negative, else 0."""
    return _shift(value, _integer(value).width - 1)


def _bias(value: Expr, divisor: int) -> Expr:
    """What makes a shift round towards zero: divisor - 1 where `value` is negative, else 0."""
    if not _integer(value).signed or divisor == 1:
        return Const(0, value.type)
    return apply("and", _sign(value), Const(divisor - 1, value.type))


def _shifted(value: Expr, divisor: int) -> Expr:
    return _shift(_add(value, _bias(value, divisor)), divisor.bit_length() - 1)


def _reciprocal_signed(value: Expr, divisor: int) -> Expr:
    width = _integer(value).width
    critical = (1 << width - 1) - (1 << width - 1) % divisor - 1
    power = width
    while 1 << power <= critical * (divisor - (1 << power) % divisor):
        power += 1
    factor = ((1 << power) + divisor - (1 << power) % divisor) // divisor
    product = apply("mul_high", value, Const(Int(width).wrap(factor), value.type))
    if factor >> width - 1:
        product = apply("add", product, value)
    return apply("sub", _shift(product, power - width), _sign(value))


def _reciprocal_small(value: Expr, divisor: int, most: int | None) -> Expr | None:
    """By one product, if a reciprocal as wide as the values is exact up to `most`."""
    type_ = _integer(value)
    found = reciprocal(divisor, type_.width, type_.maximum if most is None else most)
    if found is None:
        return None
    factor, shift = found
    return _shift(apply("mul_high", value, Const(factor, value.type)), shift)


def reciprocal(divisor: int, width: int, most: int) -> tuple[int, int] | None:
    """(f, s) with ``(x * f >> width) >> s == x // divisor`` for all x from 0 to `most`; s is as small as it can be.

    None if no such f has `width` bits.
    """
    critical = most - (most + 1) % divisor  # the largest that is one less than a multiple: it is rounded up first
    for shift in range(width):
        power = 1 << width + shift
        factor = -(-power // divisor)
        if factor >= 1 << width:
            break
        if (critical * (factor * divisor - power) if critical > 0 else most * factor) < power:
            return factor, shift
    return None


def _reciprocal_unsigned(value: Expr, divisor: int) -> Expr:
    """By a reciprocal that is one bit wider than the values: half of what it adds comes later."""
    width = _integer(value).width
    critical = (1 << width) - 1 - (1 << width) % divisor
    power = width
    while 1 << power <= critical * (divisor - 1 - ((1 << power) - 1) % divisor):
        power += 1
    factor = ((1 << power) + divisor - 1 - ((1 << power) - 1) % divisor) // divisor
    product = apply("mul_high", value, Const(factor - (1 << width), value.type))
    half = _shift(apply("sub", value, product), 1)
    return _shift(apply("add", half, product), power - width - 1)
