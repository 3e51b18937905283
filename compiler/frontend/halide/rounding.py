"""Functions of floating-point numbers to whole ones, tests of them, and interpolation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from compiler.frontend.c_scop import building
from compiler.frontend.c_scop.building import apply, integer
from compiler.frontend.halide.arithmetic import chosen, constant, converted
from compiler.frontend.halide.errors import PipelineError
from compiler.ir.expr import Const, Expr
from compiler.ir.types import Float, Int
from hw import ops as operations

__all__ = ["FLOAT_FUNCTIONS", "LARGE_FUNCTIONS", "interpolated", "rounded"]


def _whole(type: Float) -> Int:
    """What the whole part of a number with a fraction fits into."""
    return Int(32 if type.single else 64)


def _float(value: Expr) -> Float:
    if not isinstance(value.type, Float):
        raise PipelineError(f"a function of floating-point numbers has an argument of type {value.type}")
    return value.type


def _with_sign(value: Expr, magnitude: Expr, whole: Callable[[Expr], Expr]) -> Expr:
    """What `whole` makes of the magnitude, with the sign of `value`; numbers without a fraction stay as they are, as do
    zeros, infinities and what is no number."""
    type = _float(value)
    result = whole(magnitude)
    zero, limit = constant(0.0, type), constant(float(1 << type.mantissa), type)
    signed = chosen(apply("lt", value, zero), apply("neg", result), result)
    inside = apply("lt", magnitude, limit)
    return chosen(inside, chosen(apply("eq", value, zero), value, signed), value)


def _cut(magnitude: Expr) -> Expr:
    type = _float(magnitude)
    return converted(converted(magnitude, _whole(type)), type)


def _nearest(magnitude: Expr) -> Expr:
    """The nearest whole number, the even one of two."""
    type = _float(magnitude)
    whole = _whole(type)
    number = converted(magnitude, whole)
    half, rest = constant(0.5, type), apply("sub", magnitude, converted(number, type))
    odd = apply("ne", apply("and", number, constant(1, whole)), constant(0, whole))
    up = building.logic("||", apply("gt", rest, half), building.logic("&&", apply("eq", rest, half), odd))
    return converted(apply("add", number, converted(up, whole)), type)


def truncated(value: Expr) -> Expr:
    """The whole part."""
    return _with_sign(value, apply("abs", value), _cut)


def rounded(value: Expr) -> Expr:
    """The nearest whole number, the even one of two."""
    return _with_sign(value, apply("abs", value), _nearest)


def _floor(value: Expr) -> Expr:
    whole = truncated(value)
    below = apply("sub", whole, constant(1.0, _float(value)))
    return chosen(apply("lt", value, whole), below, whole)


def _ceil(value: Expr) -> Expr:
    whole = truncated(value)
    above = apply("add", whole, constant(1.0, _float(value)))
    return chosen(apply("gt", value, whole), above, whole)


def _is_nan(value: Expr) -> Expr:
    return apply("ne", value, value)


def _is_infinite(value: Expr) -> Expr:
    type = _float(value)
    return apply("eq", apply("abs", value), Const(type.infinity, type))


def _is_finite(value: Expr) -> Expr:
    type = _float(value)
    return apply("lt", apply("abs", value), Const(type.infinity, type))


_OPERATORS = ("sqrt", *operations.FLOAT_FUNCTIONS)
FLOAT_FUNCTIONS: dict[str, Callable[[Expr], Expr]] = {
    f"{name}_f{bits}": function for bits in (16, 32, 64) for name, function in (
        ("floor", _floor), ("ceil", _ceil), ("trunc", truncated), ("is_nan", _is_nan), ("is_inf", _is_infinite),
        ("is_finite", _is_finite), *((op, partial(apply, op)) for op in _OPERATORS))
}
"""Calls that Halide passes to libraries, and that have hardware which computes the same, but for the last bits of
exponentials, logarithms, sines and cosines (`compiler.ir.float_functions`)."""
LARGE_FUNCTIONS = frozenset(f"{op}_f{bits}" for op in _OPERATORS for bits in (16, 32, 64))
"""Those of them that are operators as large as some hundred adders."""


def interpolated(args: Sequence[Expr], type: Int | Float) -> Expr:
    """``lerp``: from the first to the second value by a weight, of which the largest is one."""
    zero, one, weight = args
    if isinstance(type, Float):
        if weight.type != type:
            raise PipelineError(f"lerp of {type} with a weight of type {weight.type}: cast the weight to float32, "
                                "from 0 to 1")
        return _between(zero, one, weight, type)
    if isinstance(weight.type, Float) or integer(weight).signed or type.width > 32:
        raise PipelineError("lerp of integers takes up to 32 bits and a weight without sign: cast the weight")
    return _between_integers(zero, one, weight, type)


def _between(zero: Expr, one: Expr, weight: Expr, type: Float) -> Expr:
    rest = apply("sub", constant(1.0, type), weight)
    return apply("add", apply("mul", zero, rest), apply("mul", one, weight))


def _between_integers(zero: Expr, one: Expr, weight: Expr, type: Int) -> Expr:
    """The weighted sum, exact, divided by the largest weight and rounded; negative numbers from the least on."""
    bits, have = type.width, integer(weight).width
    wide = Int(2 * bits, signed=False)
    if have > bits:
        raise PipelineError(f"lerp of {type} with a weight of {have} bits: cast the weight to {bits} bits")
    full = converted(weight, wide)
    if have < bits:
        full = apply("mul", full, constant(((1 << bits) - 1) // ((1 << have) - 1), wide))
    rest = apply("sub", constant((1 << bits) - 1, wide), full)
    total = apply("add", apply("mul", _unsigned(zero, type, wide), rest),
                  apply("mul", _unsigned(one, type, wide), full))
    result = converted(_shifted(apply("add", _shifted(total, bits, wide), total), bits, wide), Int(bits, signed=False))
    if not type.signed:
        return result
    return converted(apply("xor", result, constant(1 << bits - 1, integer(result))), type)


def _unsigned(value: Expr, type: Int, wide: Int) -> Expr:
    plain = Int(type.width, signed=False)
    value = converted(value, plain)
    return converted(apply("xor", value, constant(1 << type.width - 1, plain)) if type.signed else value, wide)


def _shifted(value: Expr, bits: int, wide: Int) -> Expr:
    """`value` without its last bits, rounded."""
    return apply("shr", apply("add", value, constant(1 << bits - 1, wide)), constant(bits, wide))
