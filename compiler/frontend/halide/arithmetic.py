"""Halide's operators on typed values, in the operations of `hw.ops`.

Integers wrap at their width. Division is Euclidean: the remainder is never negative; by zero, quotient and remainder
are 0. A shift by a negative amount shifts the other way.
"""

from __future__ import annotations

from collections.abc import Callable

from compiler.frontend.c_scop import building
from compiler.frontend.c_scop.building import apply, integer, logic
from compiler.frontend.kernel import Typed
from compiler.ir.expr import Const, Expr, select
from compiler.ir.floating import encode_number
from compiler.ir.ranges import Range
from compiler.ir.types import BIT, Float, Int

__all__ = ["BINARY", "absolute", "chosen", "clamped", "compare", "constant", "converted", "distance", "divided",
           "maximum", "minimum", "saturated", "shifted", "widened"]


def constant(value: float, type: Int | Float) -> Const:
    """`value`, wrapped to an integer type or rounded to a floating-point one."""
    return Const(encode_number(type, value) if isinstance(type, Float) else type.wrap(int(value)), type)


def converted(value: Expr, type: Int | Float) -> Expr:
    """A cast. To bool: the last bit, of a number with a fraction that of its whole part."""
    if type == BIT and value.type != BIT:
        whole = building.cast(value, Int(32)) if isinstance(value.type, Float) else value
        return apply("ne", apply("and", whole, constant(1, integer(whole))), constant(0, integer(whole)))
    if value.type == BIT and isinstance(type, Float):
        value = building.cast(value, Int(8, signed=False))
    return building.cast(value, type)


def chosen(condition: Expr, yes: Expr, no: Expr) -> Expr:
    """`yes` where the condition holds, else `no`; constants choose."""
    if isinstance(condition, Const):
        return yes if condition.value else no
    if yes is no or (isinstance(yes, Const) and yes == no):
        return yes
    if yes.type == BIT:
        return select(condition, yes, no)
    return _selected(condition, yes, no)


def _selected(condition: Expr, yes: Expr, no: Expr) -> Expr:
    if isinstance(yes.type, Float):
        return apply("select", condition, yes, no)
    return building.select(condition, yes, no)


def compare(op: str, a: Expr, b: Expr) -> Expr:
    """A comparison, of bits as of the numbers 0 and 1."""
    if a.type != BIT:
        return apply(op, a, b)
    word = Int(8, signed=False)
    return apply(op, building.cast(a, word), building.cast(b, word))


def minimum(a: Expr, b: Expr) -> Expr:
    """The smaller one, `b` if one is no number."""
    return apply("select", apply("lt", a, b), a, b) if isinstance(a.type, Float) else apply("min", a, b)


def maximum(a: Expr, b: Expr) -> Expr:
    """The larger one, `b` if one is no number."""
    return apply("select", apply("gt", a, b), a, b) if isinstance(a.type, Float) else apply("max", a, b)


def clamped(value: Expr, low: int, high: int) -> Expr:
    """An integer within low..high, which are numbers of its type."""
    return apply("min", apply("max", value, Const(low, value.type)), Const(high, value.type))


def divided(op: str, a: Expr, b: Expr, range_of: Callable[[Expr], Range]) -> Expr:
    """The quotient (`op` is ``div``) or the remainder (``mod``) of integers."""
    if isinstance(a.type, Float):
        return apply("div", a, b)
    if isinstance(a, Const) and isinstance(b, Const):
        return constant(_known(op, a.value, b.value), integer(a))
    if isinstance(b, Const) and b.value != integer(b).minimum:
        return _by_constant(op, a, b.value, range_of(a)[0] >= 0)
    return _by_data(op, a, b)


def _known(op: str, a: int, b: int) -> int:
    if b == 0:
        return 0
    rest = a % abs(b)
    return (a - rest) // b if op == "div" else rest


def _by_constant(op: str, a: Expr, divisor: int, positive: bool) -> Expr:
    if divisor == 0:
        return constant(0, integer(a))
    if divisor < 0 and op == "div":
        return apply("sub", constant(0, integer(a)), _by_constant(op, a, -divisor, positive))
    divisor = abs(divisor)
    power = divisor & (divisor - 1) == 0
    if positive and not power:
        return apply("div" if op == "div" else "rem", a, constant(divisor, integer(a)))
    return (Typed(a) // divisor if op == "div" else Typed(a) % divisor).expr


def _by_data(op: str, a: Expr, b: Expr) -> Expr:
    """From division towards zero: one step on where its remainder is negative."""
    type = integer(a)
    zero, one = constant(0, type), constant(1, type)
    quotient, rest = apply("div", a, b), apply("rem", a, b)
    known = apply("eq", b, zero)
    if not type.signed:
        return chosen(known, zero, quotient if op == "div" else rest)
    below, backwards = apply("lt", rest, zero), apply("lt", b, zero)
    if op == "div":
        step = chosen(backwards, apply("add", quotient, one), apply("sub", quotient, one))
        return chosen(known, zero, chosen(below, step, quotient))
    raised = chosen(backwards, apply("sub", rest, b), apply("add", rest, b))
    return chosen(known, zero, chosen(below, raised, rest))


def shifted(left: bool, a: Expr, b: Expr) -> Expr:
    """`a` shifted by `b` bits, which may have another type; by a negative number the other way."""
    type, amount = integer(a), integer(b)
    if isinstance(b, Const):
        left, size = (left, b.value) if b.value >= 0 else (not left, -b.value)
        return apply("shl" if left else "shr", a, constant(min(size, type.width), type))
    there = apply("shl" if left else "shr", a, _amount(b, type))
    if not amount.signed:
        return there
    back = apply("shr" if left else "shl", a, _amount(apply("sub", constant(0, amount), b), type))
    return chosen(apply("lt", b, constant(0, amount)), back, there)


def _amount(b: Expr, type: Int) -> Expr:
    if integer(b).width > type.width:
        b = apply("min", b, constant(type.width, integer(b)))
    return converted(b, type)


def absolute(a: Expr) -> Expr:
    """|a|, of an integer in the type without sign."""
    if isinstance(a.type, Float) or not integer(a).signed:
        return apply("abs", a) if isinstance(a.type, Float) else a
    return converted(apply("abs", a), Int(integer(a).width, signed=False))


def distance(a: Expr, b: Expr) -> Expr:
    """|a - b|, of integers in the type without sign."""
    if isinstance(a.type, Float):
        return apply("abs", apply("sub", a, b))
    return converted(apply("absd", a, b), Int(integer(a).width, signed=False))


def widened(value: Expr, signed: bool | None = None) -> Expr:
    """An integer in a type of twice the width; `signed`: of that type, if it is not that of the value."""
    type = integer(value)
    return converted(value, Int(2 * type.width, type.signed if signed is None else signed))


def saturated(value: Expr, type: Int) -> Expr:
    """The number of `type` that is nearest to `value`."""
    if isinstance(value.type, Float):
        return _saturated_float(value, value.type, type)
    source = integer(value)
    low, high = max(source.minimum, type.minimum), min(source.maximum, type.maximum)
    if low > source.minimum:
        value = apply("max", value, Const(low, source))
    if high < source.maximum:
        value = apply("min", value, Const(high, source))
    return converted(value, type)


def _saturated_float(value: Expr, source: Float, type: Int) -> Expr:
    above = apply("ge", value, constant(float(1 << type.width - type.signed), source))
    below = apply("le", value, constant(float(type.minimum), source))
    inside = converted(value, type)
    return chosen(above, Const(type.maximum, type), chosen(below, Const(type.minimum, type), inside))


def _product(a: Expr, b: Expr) -> Expr:
    for one, other in ((a, b), (b, a)):
        if isinstance(one.type, Int) and one == Const(1, one.type):
            return other
    return apply("mul", a, b)


BINARY: dict[str, Callable[[Expr, Expr], Expr]] = {
    "add": lambda a, b: apply("add", a, b), "sub": lambda a, b: apply("sub", a, b), "mul": _product,
    "min": minimum, "max": maximum,
    **{op: (lambda a, b, op=op: compare(op, a, b)) for op in ("eq", "ne", "lt", "le", "gt", "ge")},
    "and": lambda a, b: logic("&&", a, b), "or": lambda a, b: logic("||", a, b),
}
"""Operators of two operands of one type."""

