"""Building typed expressions with constants folded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce

import islpy as isl
import numpy as np

from compiler.frontend.c_scop.affine import value_range
from compiler.frontend.c_scop.numbers import as_type, folded
from compiler.frontend.c_scop.types import BYTE, Bool, Number
from compiler.ir import expr
from compiler.ir.expr import LUT3_TABLE, NEGATED, Apply, Cast, Const, Expr
from compiler.ir.types import BIT, FLOAT32, FLOAT64, Float, Int
from hw.ops import operation

__all__ = ["affine", "apply", "as_int", "bit", "cast", "conjunction", "integer", "is_power_of_two", "logic", "negation",
           "select", "truth"]

_INT = Int(32)


def integer(node: Expr) -> Int:
    """The type of `node`, which is an integer type."""
    assert isinstance(node.type, Int)
    return node.type


def apply(op: str, *args: Expr) -> Expr:
    """Operation `op`, computed now if all operands are constants."""
    constants = [arg for arg in args if isinstance(arg, Const)]
    if len(constants) == len(args) and isinstance(args[-1].type, Float):
        return folded(op, constants)
    result = expr.apply(op, *args)
    if len(constants) < len(args):
        return result
    values = [np.array([arg.value], object) for arg in constants]
    width = max((integer(arg).width for arg in args if arg.type not in (BIT, LUT3_TABLE)), default=1)
    return Const(int(integer(result).wrap(int(np.ravel(operation(op).evaluate(width, *values))[0]))), result.type)


def cast(node: Expr, type: Number) -> Expr:
    """`node` converted to `type`."""
    if isinstance(type, Bool):
        return cast(truth(node), BYTE)
    if node.type == type:
        return node
    if isinstance(node, Const):
        return as_type(node, type)
    return _single(node) if type == FLOAT32 and node.type == FLOAT64 else Cast(node, type)


def _single(node: Expr) -> Expr:
    """A double as float; an operation on floats alone is one in float (`compiler.ir.floating`)."""
    if isinstance(node, Apply) and node.op in ("add", "sub", "mul", "div", "sqrt"):
        parts = [_as_single(arg) for arg in node.args]
        if None not in parts:
            return apply(node.op, *(part for part in parts if part is not None))
    return Cast(node, FLOAT32)


def _as_single(node: Expr) -> Expr | None:
    """The float that a double always is."""
    if isinstance(node, Const):
        single = as_type(node, FLOAT32)
        return single if as_type(single, FLOAT64) == node else None
    return node.arg if isinstance(node, Cast) and node.arg.type == FLOAT32 else None


def is_power_of_two(node: Const) -> bool:
    """Whether a floating-point constant is a power of two (or minus one) so large that its reciprocal is one too:
    multiplying by it is dividing by the reciprocal."""
    assert isinstance(node.type, Float)
    fraction = node.value & (1 << node.type.mantissa) - 1
    exponent = node.value >> node.type.mantissa & (1 << node.type.exponent) - 1
    return fraction == 0 and 1 < exponent < (1 << node.type.exponent) - 2


def bit(value: bool) -> Const:
    """A constant condition."""
    return Const(int(value), BIT)


def truth(node: Expr) -> Expr:
    """Whether `node` is not zero, as one bit."""
    if node.type == BIT:
        return node
    if isinstance(node, Cast) and node.arg.type == BIT:
        return node.arg
    return apply("ne", node, Const(0, node.type))


def as_int(condition: Expr) -> Expr:
    """A bit as C's int 0 or 1."""
    return cast(condition, _INT)


def negation(condition: Expr) -> Expr:
    """The opposite of a bit. Of floating-point numbers one may be less, equal, greater, or none of these."""
    if isinstance(condition, Apply) and condition.op in NEGATED and _reversible(condition):
        return apply(NEGATED[condition.op], *condition.args)
    return _table(lambda p, q: 1 - p, condition, condition)


def _reversible(comparison: Apply) -> bool:
    return isinstance(comparison.args[0].type, Int) or comparison.op in ("eq", "ne")


def logic(op: str, left: Expr, right: Expr) -> Expr:
    """``left && right`` or ``left || right`` of bits."""
    for known, other in ((left, right), (right, left)):
        if isinstance(known, Const):
            return known if known.value == (op == "||") else other
    return _table((lambda p, q: p & q) if op == "&&" else (lambda p, q: p | q), left, right)


def conjunction(conditions: Iterable[Expr]) -> Expr:
    """Whether all of some bits are true."""
    return reduce(lambda left, right: logic("&&", left, right), conditions, bit(True))


def select(condition: Expr, yes: Expr, no: Expr) -> Expr:
    """``condition ? yes : no`` of operands of one type; what says minimum, maximum or distance of integers becomes
    that."""
    if isinstance(condition, Apply) and condition.op in ("lt", "le", "gt", "ge") and _reversible(condition):
        small, large = condition.args if condition.op in ("lt", "le") else condition.args[::-1]
        if (yes, no) == (small, large):
            return apply("min", yes, no)
        if (yes, no) == (large, small):
            return apply("max", yes, no)
        if integer(small).signed and yes == apply("sub", large, small):
            if _is_zero(large) and no == small:
                return apply("abs", no)
            if no == apply("sub", small, large):
                return apply("absd", large, small)
        if integer(small).signed and _is_zero(small) and yes == large and no == apply("sub", small, large):
            return apply("abs", yes)
    return apply("select", condition, yes, no)


def _is_zero(node: Expr) -> bool:
    return isinstance(node, Const) and node.value == 0


def _table(function: Callable[[int, int], int], p: Expr, q: Expr) -> Expr:
    table = sum(function(index & 1, index >> 1 & 1) << index for index in range(8))
    return apply("lut3", Const(table, LUT3_TABLE), p, q, bit(False))


def affine(function: isl.Aff, names: tuple[str, ...], type: Int, domain: isl.Set) -> Expr:
    """`function` of the iterators `names`, where these are in `domain`. Its quotients are of positive numbers, to which
    enough was added."""
    common = function.get_denominator_val().to_python()
    if common > 1:
        return _quotient(function.scale_val(isl.Val(common)), common, names, type, domain)
    terms: list[tuple[int, Expr]] = []
    for position, name in enumerate(names):
        weight = function.get_coefficient_val(isl.dim_type.in_, position).to_python()
        terms.append((weight, expr.Iterator(name, type)))
    for position in range(function.dim(isl.dim_type.div)):
        weight = function.get_coefficient_val(isl.dim_type.div, position).to_python()
        if weight:
            terms.append((weight, _floor(function.get_div(position), names, type, domain)))
    total: Expr = Const(type.wrap(function.get_constant_val().to_python()), type)
    for weight, value in terms:
        if weight:
            term = value if weight == 1 else apply("mul", value, Const(type.wrap(weight), type))
            total = term if total == Const(0, type) else apply("add", total, term)
    return total


def _floor(function: isl.Aff, names: tuple[str, ...], type: Int, domain: isl.Set) -> Expr:
    """``floor(function)``, of a function with a denominator."""
    divisor = function.get_denominator_val().to_python()
    return _quotient(function.scale_val(isl.Val(divisor)), divisor, names, type, domain)


def _quotient(function: isl.Aff, divisor: int, names: tuple[str, ...], type: Int, domain: isl.Set) -> Expr:
    lowest, _ = value_range(isl.PwAff.from_aff(function), domain, type)
    added = max(0, -(lowest // divisor))
    value = affine(function.add_constant_val(isl.Val(added * divisor)), names, type, domain)
    result = apply("div", value, Const(divisor, type))
    return result if added == 0 else apply("sub", result, Const(added, type))
