"""Halide's intrinsic functions: name → what it computes of typed values.

Those on two integers compute in twice the width, exactly, and come back to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.frontend.c_scop import building
from compiler.frontend.c_scop.building import apply, integer
from compiler.frontend.halide import arithmetic
from compiler.frontend.halide.arithmetic import chosen, compare, constant, converted, saturated, shifted, widened
from compiler.frontend.halide.errors import PipelineError
from compiler.frontend.halide.rounding import interpolated, rounded
from compiler.ir.expr import Const, Expr
from compiler.ir.types import BIT, Float, Int

__all__ = ["INTRINSICS", "TRANSPARENT", "intrinsic"]

TRANSPARENT = frozenset({"likely", "likely_if_innermost", "promise_clamped", "unsafe_promise_clamped", "strict_float"})
"""Functions that say something of their first argument, and are it."""

Function = Callable[[Sequence[Expr], "Int | Float"], Expr]


def intrinsic(name: str, args: Sequence[Expr], type: Int | Float) -> Expr:
    """The value of an intrinsic function, of the type that Halide gives it. Raises `PipelineError`, without saying
    where, for functions that are not known."""
    if name not in INTRINSICS:
        known = ", ".join(sorted(INTRINSICS))
        raise PipelineError(f"there is no hardware for the function '{name}'; there is for {known}")
    return INTRINSICS[name](args, type)


def _exactly(combine: Callable[[Expr, Expr], Expr], a: Expr, b: Expr, signed: bool | None = None) -> Expr:
    if integer(a).width > 32:
        raise PipelineError("functions that round or saturate take at most 32 bits: cast to 32 bits")
    return combine(widened(a, signed), widened(b, signed))


def _op(name: str) -> Callable[[Expr, Expr], Expr]:
    return lambda a, b: apply(name, a, b)



def _saturating(op: str) -> Function:
    def compute(args: Sequence[Expr], type: Int | Float) -> Expr:
        exact = _exactly(_op(op), args[0], args[1], signed=True)
        return saturated(exact, integer(args[0]))
    return compute


def _saturating_cast(args: Sequence[Expr], type: Int | Float) -> Expr:
    return saturated(args[0], type) if isinstance(type, Int) else converted(args[0], type)


def _halving(op: str, rounding: int) -> Function:
    def compute(args: Sequence[Expr], type: Int | Float) -> Expr:
        exact = _exactly(_op(op), args[0], args[1], signed=True if op == "sub" else None)
        wide = integer(exact)
        if rounding:
            exact = apply("add", exact, constant(rounding, wide))
        return converted(apply("shr", exact, constant(1, wide)), integer(args[0]))
    return compute


def _widening(op: str) -> Function:
    def compute(args: Sequence[Expr], type: Int | Float) -> Expr:
        wide = building.cast(args[0], type), building.cast(args[1], type)
        return apply(op, *wide)
    return compute


def _widen_right(op: str) -> Function:
    return lambda args, type: apply(op, args[0], building.cast(args[1], type))


def _rounding_shift(left: bool) -> Function:
    """Half of the last bit that a shift to the right drops is added before it."""
    def compute(args: Sequence[Expr], type: Int | Float) -> Expr:
        value, amount = args
        if integer(value).width > 32:
            raise PipelineError("functions that round or saturate take at most 32 bits: cast to 32 bits")
        wide, size = widened(value), integer(amount)
        right = apply("sub", constant(0, size), amount) if left else amount
        signed = Int(size.width, signed=True)
        down = apply("gt", converted(right, signed), constant(0, signed))
        one_less = apply("sub", right, constant(1, size))
        half = shifted(True, constant(1, integer(wide)), chosen(down, one_less, constant(0, size)))
        rounded = apply("add", wide, chosen(down, half, constant(0, integer(wide))))
        return converted(shifted(left, rounded, amount), integer(value))
    return compute


def _product_shift(rounding: bool) -> Function:
    """The product, exact, shifted to the right and saturated."""
    def compute(args: Sequence[Expr], type: Int | Float) -> Expr:
        a, b, amount = args
        product = _exactly(_op("mul"), a, b)
        wide = integer(product)
        if not isinstance(amount, Const):
            raise PipelineError("mul_shift_right takes a constant amount")
        if rounding and amount.value > 0:
            product = apply("add", product, constant(1 << amount.value - 1, wide))
        return saturated(shifted(False, product, amount), integer(a))
    return compute


def _bitwise(op: str) -> Function:
    def compute(args: Sequence[Expr], type: Int | Float) -> Expr:
        if args[0].type == BIT:
            return arithmetic.BINARY[op](*args) if op != "xor" else compare("ne", *args)
        return apply(op, *args)
    return compute


def _complement(args: Sequence[Expr], type: Int | Float) -> Expr:
    return building.negation(args[0]) if type == BIT else apply("xor", args[0], constant(-1, integer(args[0])))


def _mux(args: Sequence[Expr], type: Int | Float) -> Expr:
    """The value whose number is first; the last one for numbers beyond."""
    which, *values = args
    result = values[-1]
    for number in reversed(range(len(values) - 1)):
        result = chosen(apply("eq", which, constant(number, integer(which))), values[number], result)
    return result


def _ones(value: Expr) -> Expr:
    """How many bits are set: sums of neighbours, then of pairs, and so on."""
    type = integer(value)
    word = Int(type.width, signed=False)
    value, step = converted(value, word), 1
    while step < word.width:
        mask = constant(sum(((1 << step) - 1) << at for at in range(0, word.width, 2 * step)), word)
        high = apply("and", apply("shr", value, constant(step, word)), mask)
        value, step = apply("add", apply("and", value, mask), high), 2 * step
    return value


def _trailing_zeros(value: Expr) -> Expr:
    word = Int(integer(value).width, signed=False)
    value = converted(value, word)
    below = apply("and", apply("xor", value, constant(-1, word)), apply("sub", value, constant(1, word)))
    return _ones(below)


def _leading_zeros(value: Expr) -> Expr:
    word = Int(integer(value).width, signed=False)
    value, step = converted(value, word), 1
    while step < word.width:
        value, step = apply("or", value, apply("shr", value, constant(step, word))), 2 * step
    return _ones(apply("xor", value, constant(-1, word)))


def _counting(count: Callable[[Expr], Expr]) -> Function:
    def compute(args: Sequence[Expr], type: Int | Float) -> Expr:
        return converted(count(args[0]), type)
    return compute


def _strict(op: str) -> Function:
    return lambda args, type: arithmetic.BINARY[op](*args)


INTRINSICS: dict[str, Function] = {
    "abs": lambda args, type: arithmetic.absolute(args[0]),
    "absd": lambda args, type: arithmetic.distance(*args),
    "saturating_cast": _saturating_cast,
    "saturating_add": _saturating("add"), "saturating_sub": _saturating("sub"),
    "halving_add": _halving("add", 0), "halving_sub": _halving("sub", 0), "rounding_halving_add": _halving("add", 1),
    "widening_add": _widening("add"), "widening_sub": _widening("sub"), "widening_mul": _widening("mul"),
    "widen_right_add": _widen_right("add"), "widen_right_sub": _widen_right("sub"),
    "widen_right_mul": _widen_right("mul"),
    "widening_shift_left": lambda args, type: shifted(True, building.cast(args[0], type), args[1]),
    "widening_shift_right": lambda args, type: shifted(False, building.cast(args[0], type), args[1]),
    "rounding_shift_right": _rounding_shift(left=False), "rounding_shift_left": _rounding_shift(left=True),
    "mul_shift_right": _product_shift(rounding=False), "rounding_mul_shift_right": _product_shift(rounding=True),
    "shift_left": lambda args, type: shifted(True, *args), "shift_right": lambda args, type: shifted(False, *args),
    "bitwise_and": _bitwise("and"), "bitwise_or": _bitwise("or"), "bitwise_xor": _bitwise("xor"),
    "bitwise_not": _complement, "mux": _mux, "if_then_else": lambda args, type: chosen(*args),
    "popcount": _counting(_ones), "count_trailing_zeros": _counting(_trailing_zeros),
    "count_leading_zeros": _counting(_leading_zeros), "return_second": lambda args, type: args[1],
    **{f"strict_{op}": _strict(op) for op in ("add", "sub", "mul", "min", "max", "eq", "lt", "le")},
    "strict_div": lambda args, type: apply("div", *args),
    "round": lambda args, type: rounded(args[0]), "lerp": interpolated,
    "div_round_to_zero": lambda args, type: apply("div", *args),
    "mod_round_to_zero": lambda args, type: apply("rem", *args),
}
"""`args` and the type of the result."""
