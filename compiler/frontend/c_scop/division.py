"""Division and remainder by constants without a divider, rounding towards zero as C does.

Powers of two are shifts with a correction for negative numbers. Other divisors multiply by a scaled reciprocal and
keep the upper half (H. S. Warren, "Hacker's Delight", 2nd edition, sections 10-4 and 10-9).
"""

from __future__ import annotations

from compiler.frontend.c_scop.building import apply, integer
from compiler.ir.expr import Const, Expr
from compiler.ir.types import Int

__all__ = ["DivisionError", "quotient", "remainder"]


class DivisionError(Exception):
    """A divisor that cannot be."""


def quotient(value: Expr, divisor: int) -> Expr:
    """``value / divisor`` in the type of `value`. Raises `DivisionError`."""
    _check(value, divisor)
    if divisor < 0:
        return apply("sub", Const(0, value.type), quotient(value, -divisor))
    if divisor & (divisor - 1) == 0:
        return _shifted(value, divisor)
    return _reciprocal_signed(value, divisor) if integer(value).signed else _reciprocal_unsigned(value, divisor)


def remainder(value: Expr, divisor: int) -> Expr:
    """``value % divisor``: has the sign of `value`. Raises `DivisionError`."""
    _check(value, divisor)
    divisor = abs(divisor)
    if divisor & (divisor - 1) == 0:
        bias, mask = _bias(value, divisor), Const(divisor - 1, value.type)
        return _subtract(apply("and", _add(value, bias), mask), bias)
    return apply("sub", value, apply("mul", quotient(value, divisor), Const(divisor, value.type)))


def _check(value: Expr, divisor: int) -> None:
    if divisor == 0:
        raise DivisionError("division by zero")
    if divisor < 0 and divisor == integer(value).minimum:
        raise DivisionError("the most negative number cannot be a divisor")


def _add(value: Expr, other: Expr) -> Expr:
    return value if other == Const(0, value.type) else apply("add", value, other)


def _subtract(value: Expr, other: Expr) -> Expr:
    return value if other == Const(0, value.type) else apply("sub", value, other)


def _shift(value: Expr, amount: int) -> Expr:
    return apply("shr", value, Const(amount, value.type)) if amount else value


def _sign(value: Expr) -> Expr:
    """-1 where a signed value is negative, else 0."""
    return _shift(value, integer(value).width - 1)


def _bias(value: Expr, divisor: int) -> Expr:
    """What makes a shift round towards zero: divisor - 1 where `value` is negative, else 0."""
    if not integer(value).signed or divisor == 1:
        return Const(0, value.type)
    return apply("and", _sign(value), Const(divisor - 1, value.type))


def _shifted(value: Expr, divisor: int) -> Expr:
    return _shift(_add(value, _bias(value, divisor)), divisor.bit_length() - 1)


def _reciprocal_signed(value: Expr, divisor: int) -> Expr:
    width = integer(value).width
    critical = (1 << width - 1) - (1 << width - 1) % divisor - 1
    power = width
    while 1 << power <= critical * (divisor - (1 << power) % divisor):
        power += 1
    factor = ((1 << power) + divisor - (1 << power) % divisor) // divisor
    product = apply("mul_high", value, Const(Int(width).wrap(factor), value.type))
    if factor >> width - 1:
        product = apply("add", product, value)
    return apply("sub", _shift(product, power - width), _sign(value))


def _reciprocal_unsigned(value: Expr, divisor: int) -> Expr:
    width = integer(value).width
    critical = (1 << width) - 1 - (1 << width) % divisor
    power = width
    while 1 << power <= critical * (divisor - 1 - ((1 << power) - 1) % divisor):
        power += 1
    factor = ((1 << power) + divisor - 1 - ((1 << power) - 1) % divisor) // divisor
    if factor < 1 << width:
        return _shift(apply("mul_high", value, Const(factor, value.type)), power - width)
    product = apply("mul_high", value, Const(factor - (1 << width), value.type))
    half = _shift(apply("sub", value, product), 1)
    return _shift(apply("add", half, product), power - width - 1)
