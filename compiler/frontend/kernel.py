"""Typed expressions in Python: the language of the functions that loop nests apply.

A kernel is a Python function over `Typed` values that returns one:

    def blur(a, b, c, d):
        return (a + b + c + d) >> 2

Python's operators build expression nodes. A Python int takes the type of the other operand and must fit it.
Operands of different types are an error; `cast` converts. Besides the functions defined here, every operation of
`hw.ops` can be imported from this module under its own name (``mul_mid(a, b)``, ``mad(a, b, c)``). Logic on bits
becomes ``lut3``.

``//`` and ``%`` round down as Python's do, by constants and by values; by a value that is 0 they give 0, as numpy does.

Floating-point values (`FLOAT32`, `BFLOAT16`, `FLOAT16` of `compiler.ir.types`) have ``+``, ``-``, ``*``, ``/`` and
comparisons, each rounded once; Python's ints and floats among their operands become the nearest numbers of their type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import index
from typing import Any

from compiler.ir import expr
from compiler.ir.constant_division import quotient as reciprocal_quotient
from compiler.ir.expr import LUT3_TABLE, Const, Expr
from compiler.ir.floating import encode_number
from compiler.ir.program import Table
from compiler.ir.types import BIT, Float, Int, ProgramError, Type, element_type
from hw.ops import FLOAT_FUNCTIONS, OPERATIONS, Kind
from hw.ops import operation as entry_of

__all__ = [
    "Typed",
    "absolute",
    "absolute_difference",
    "apply",
    "cast",
    "clamp",
    "constant",
    "iterator",
    "lookup",
    "maximum",
    "minimum",
    "nearest",
    "select",
    "weighted_sum",
]

TypeLike = Any
"""What names a type: one of `compiler.ir.types`, its name, or a numpy dtype."""


class Typed:
    """An expression under construction, with Python's operators. `expr` is the finished node, `type` its type.

    ``//`` and ``%`` round down, as Python does. By constants they are products and shifts; by values they are dividers,
    and give 0 where the divisor is 0. ``**`` takes constant integers from 0 on.
    ``&``, ``|``, ``^``, ``~``, ``==`` and ``!=`` work on words and on bits.
    """

    __slots__ = ("expr",)

    def __init__(self, node: Expr) -> None:
        self.expr = node

    @property
    def type(self) -> Type:
        return self.expr.type

    def __repr__(self) -> str:
        return f"<expression of type {self.type}>"

    def __bool__(self) -> bool:
        raise ProgramError("a value of the program is not known in Python; use select(condition, a, b)")

    __hash__ = object.__hash__

    def __add__(self, other: Any) -> Typed:
        return apply("add", self, other)

    def __radd__(self, other: Any) -> Typed:
        return apply("add", other, self)

    def __sub__(self, other: Any) -> Typed:
        return apply("sub", self, other)

    def __rsub__(self, other: Any) -> Typed:
        return apply("sub", other, self)

    def __mul__(self, other: Any) -> Typed:
        return apply("mul", self, other)

    def __rmul__(self, other: Any) -> Typed:
        return apply("mul", other, self)

    def __truediv__(self, other: Any) -> Typed:
        return _divided(self, other)

    def __rtruediv__(self, other: Any) -> Typed:
        return _divided(other, self)

    def __lshift__(self, other: Any) -> Typed:
        return apply("shl", self, other)

    def __rlshift__(self, other: Any) -> Typed:
        return apply("shl", other, self)

    def __rshift__(self, other: Any) -> Typed:
        return apply("shr", self, other)

    def __rrshift__(self, other: Any) -> Typed:
        return apply("shr", other, self)

    def __floordiv__(self, other: Any) -> Typed:
        return _quotient(self, other)

    def __rfloordiv__(self, other: Any) -> Typed:
        return _quotient(_operand("//", other, self.type), self)

    def __mod__(self, other: Any) -> Typed:
        return _remainder(self, other)

    def __rmod__(self, other: Any) -> Typed:
        return _remainder(_operand("%", other, self.type), self)

    def __divmod__(self, other: Any) -> tuple[Typed, Typed]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Typed, Typed]:
        return other // self, other % self

    def __pow__(self, exponent: Any) -> Typed:
        return _power(self, exponent)

    def __neg__(self) -> Typed:
        return apply("neg", self) if isinstance(self.type, Float) else 0 - self

    def __pos__(self) -> Typed:
        return self

    def __abs__(self) -> Typed:
        return absolute(self)

    def __and__(self, other: Any) -> Typed:
        return _logic("and", lambda p, q: p & q, self, other)

    def __or__(self, other: Any) -> Typed:
        return _logic("or", lambda p, q: p | q, self, other)

    def __xor__(self, other: Any) -> Typed:
        return _logic("xor", lambda p, q: p ^ q, self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Typed:
        if self.type == BIT:
            return _truth_table(lambda p, q, r: 1 - p, self)
        type = _integer("'~' takes", self.type)
        return self ^ (-1 if type.signed else type.maximum)

    def __eq__(self, other: Any) -> Typed:  # type: ignore[override]
        return _logic("eq", lambda p, q: p == q, self, other)

    def __ne__(self, other: Any) -> Typed:  # type: ignore[override]
        return _logic("ne", lambda p, q: p != q, self, other)

    def __lt__(self, other: Any) -> Typed:
        return apply("lt", self, other)

    def __le__(self, other: Any) -> Typed:
        return apply("le", self, other)

    def __gt__(self, other: Any) -> Typed:
        return apply("gt", self, other)

    def __ge__(self, other: Any) -> Typed:
        return apply("ge", self, other)


def apply(op: str, *args: Any) -> Typed:
    """Operation `op` of `hw.ops` on typed values and Python ints. Raises `ProgramError` as `expr.apply` does."""
    kinds = _argument_kinds(op)
    word = next((arg.type for arg, kind in zip(args, kinds, strict=False)
                 if kind is Kind.WORD and isinstance(arg, Typed)), None)
    if word is None and Kind.WORD in kinds:
        raise ProgramError(f"operation '{op}' needs a typed operand; constant(type, value) makes one")
    defaults: dict[Kind | None, Type] = {Kind.WORD: word or BIT, Kind.BIT: BIT, None: LUT3_TABLE}
    padded = [*kinds, *[kinds[-1]] * (len(args) - len(kinds))]
    nodes = [_node(op, arg, defaults[kind]) for arg, kind in zip(args, padded, strict=False)]
    return Typed(expr.apply(op, *nodes))


def constant(type: TypeLike, value: Any) -> Typed:
    """`value` as a constant of `type`: the nearest number of a floating-point type. Raises `ProgramError` if it is no
    number, and for integer types if it is no integer or does not fit."""
    type = _named("constant", type)
    if isinstance(type, Float):
        return Typed(Const(nearest(type, value), type))
    low, high = type.minimum, type.maximum
    try:
        whole = index(value)
    except TypeError:
        raise ProgramError(f"constant {value!r} is not an integer") from None
    if not low <= whole <= high:
        raise ProgramError(f"constant {whole} does not fit {type} ({low}..{high})")
    return Typed(Const(whole, type))


def nearest(type: Float, value: Any) -> int:
    """The bit pattern of the number of `type` nearest to `value`. Raises `ProgramError` if that is no number."""
    if not hasattr(value, "__float__"):
        raise ProgramError(f"constant {value!r} is not a number")
    return encode_number(type, float(value))


def iterator(name: str, type: TypeLike) -> Typed:
    """The value of the loop called `name` around the statement, wrapped to `type`."""
    return Typed(expr.Iterator(name, element_type(type, f"iterator '{name}'")))


def cast(type: TypeLike, value: Typed) -> Typed:
    """`value` converted to `type`: extended, truncated or reinterpreted, never saturated; to a floating-point type
    rounded to nearest, from one to integers towards zero."""
    type = _named("cast", type)
    return value if _typed("cast", value).type == type else Typed(expr.Cast(value.expr, type))


def lookup(table: Table, entry: Typed) -> Typed:
    """Entry number `entry` of `table`, as `Prog.add_table` returned it."""
    if not isinstance(table, Table):
        raise ProgramError(f"lookup takes a table as add_table(name, values) returns it, not {table!r}")
    return Typed(expr.Lookup(table.name, _typed("lookup", entry).expr, table.type))


def select(condition: Typed, a: Any, b: Any) -> Typed:
    """`a` where `condition` (a bit) is 1, else `b`."""
    if BIT in (getattr(a, "type", None), getattr(b, "type", None)):
        return _truth_table(lambda p, q, r: q if p else r, condition, a, b)
    return apply("select", condition, a, b)


def minimum(a: Any, b: Any) -> Typed:
    """The smaller one; of floating-point values ``a < b ? a : b``."""
    if _is_float(a, b):
        return _chosen("lt", a, b)
    return apply("min", a, b)


def maximum(a: Any, b: Any) -> Typed:
    """The larger one; of floating-point values ``a > b ? a : b``."""
    if _is_float(a, b):
        return _chosen("gt", a, b)
    return apply("max", a, b)


def absolute(a: Typed) -> Typed:
    """|a|; the most negative value stays itself, as wrapping demands."""
    return apply("abs", a)


def absolute_difference(a: Any, b: Any) -> Typed:
    """|a - b|, exact before it wraps; of floating-point values, of the rounded difference."""
    if _is_float(a, b):
        return absolute(apply("sub", a, b))
    return apply("absd", a, b)


def clamp(a: Any, low: Any, high: Any) -> Typed:
    """`a` limited to low..high."""
    return minimum(maximum(a, low), high)


def weighted_sum(weights: Sequence[float], values: Iterable[Typed]) -> Typed:
    """Sum of weight times value, as one chain in the order given.

    Values of weight zero are left out, those of weight one are not multiplied.
    """
    values = list(values)
    if len(values) != len(weights):
        raise ProgramError(f"a weighted sum of {len(values)} values needs as many weights, not {len(weights)}")
    total: Typed | None = None
    for weight, value in zip(weights, values, strict=True):
        if weight != 0:
            term = value if weight == 1 else value * weight
            total = term if total is None else total + term
    if total is None:
        raise ProgramError("a weighted sum needs at least one weight that is not zero")
    return total


def _is_float(*values: Any) -> bool:
    return any(isinstance(value, Typed) and isinstance(value.type, Float) for value in values)


def _chosen(comparison: str, a: Any, b: Any) -> Typed:
    """The operand for which `comparison` holds against the other one, else the second."""
    return apply("select", apply(comparison, a, b), a, b)


def _divided(a: Any, b: Any) -> Typed:
    if not _is_float(a, b):
        raise ProgramError("'/' divides floating-point values; integers have // and %")
    return apply("div", a, b)


def __getattr__(name: str) -> Callable[..., Typed]:
    """Operations of `hw.ops` by name."""
    if name not in OPERATIONS and name not in _OF_FLOATS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def operation(*args: Any) -> Typed:
        return apply(name, *args)

    return operation


def _argument_kinds(op: str) -> tuple[Kind | None, ...]:
    """Kinds of the arguments of `op`; None stands for the truth table of ``lut3``."""
    if op not in OPERATIONS and op not in (*_OF_FLOATS, "div", "neg"):
        raise ProgramError(f"there is no operation '{op}'; there are: {', '.join(sorted((*OPERATIONS, *_OF_FLOATS)))}")
    return ((None,) if op == "lut3" else ()) + entry_of(op).operands


_OF_FLOATS = ("sqrt", *FLOAT_FUNCTIONS)
"""Operations that are here for floating-point numbers."""


def _node(op: str, arg: Any, default: Type) -> Expr:
    if isinstance(arg, Typed):
        return arg.expr
    if not hasattr(arg, "__index__") and not (isinstance(default, Float) and hasattr(arg, "__float__")):
        raise ProgramError(f"operation '{op}' takes typed values and integers, not {arg!r}")
    return constant(default, arg).expr


def _typed(op: str, value: Any) -> Typed:
    if not isinstance(value, Typed):
        raise ProgramError(f"'{op}' takes a typed value, not {value!r}; constant(type, value) makes one")
    return value


def _named(function: str, type: TypeLike) -> Int | Float:
    """The type that a user means by the first argument of `function`."""
    if isinstance(type, Typed):
        raise ProgramError(f"{function} takes the type first, then the value: {function}(INT16, value)")
    return element_type(type, function)


def _operand(symbol: str, value: Any, type: Type) -> Typed:
    """An operand of `symbol`; a number becomes a constant of `type`."""
    if isinstance(value, Typed):
        return value
    if not hasattr(value, "__index__"):
        raise ProgramError(f"'{symbol}' takes typed values and integers, not {value!r}")
    return constant(_divisible(type), value)


def _integer(what: str, type: Type) -> Int:
    if not isinstance(type, Int):
        raise ProgramError(f"{what} integers, not {type}")
    return type


def _divisible(type: Type) -> Int:
    return _integer("'//' and '%' take", type)


def _known_divisor(symbol: str, type: Type, divisor: Any) -> int | None:
    """A divisor that is no value: a number that a reciprocal serves, of either sign. The most negative one has none."""
    if isinstance(divisor, Typed) or not hasattr(divisor, "__index__"):
        return None
    known, limits = index(divisor), _divisible(type)
    if known == 0:
        raise ProgramError(f"'{symbol}' by 0")
    if not limits.minimum <= known <= limits.maximum:
        raise ProgramError(f"the divisor {known} is no {limits}")
    return known if abs(known) <= limits.maximum else None


def _quotient(value: Typed, divisor: Any) -> Typed:
    """``value // divisor``. A negative divisor is a positive one and another sign, one less where something is left."""
    known = _known_divisor("//", value.type, divisor)
    if known is None:
        return _by_value(value, _operand("//", divisor, value.type), quotient=True)
    if known > 0:
        return _floor_quotient(value, known)
    found = -_floor_quotient(value, -known)
    return select(value % -known != 0, found - 1, found)


def _remainder(value: Typed, divisor: Any) -> Typed:
    """``value % divisor``, which has the divisor's sign."""
    known = _known_divisor("%", value.type, divisor)
    if known is None:
        return _by_value(value, _operand("%", divisor, value.type), quotient=False)
    size = abs(known)
    rest = value & (size - 1) if size & (size - 1) == 0 else value - _floor_quotient(value, size) * size
    return rest if known > 0 else select(rest != 0, rest - size, rest)


def _by_value(a: Typed, b: Typed, quotient: bool) -> Typed:
    """From division towards zero: one less, or a divisor more, where remainder and divisor differ in sign."""
    rest = Typed(expr.apply("rem", a.expr, b.expr))
    below = (rest != 0) & ((rest ^ b) < 0) if _divisible(a.type).signed else None
    found = Typed(expr.apply("div", a.expr, b.expr)) if quotient else rest
    if below is not None:
        found = select(below, found - 1 if quotient else found + b, found)
    return select(b == 0, 0, found)


def _power(value: Typed, exponent: Any) -> Typed:
    """Squares and products."""
    if not isinstance(exponent, int) or exponent < 0:
        raise ProgramError(f"'**' takes a constant integer from 0 on, not {exponent!r}")
    if exponent < 2:
        return value if exponent else constant(value.type, 1)
    half = _power(value, exponent // 2)
    return half * half * value if exponent % 2 else half * half


def _floor_quotient(value: Typed, divisor: int) -> Typed:
    """``value // divisor``: of a negative number, all whose bits are inverted, the inverted quotient."""
    if divisor & (divisor - 1) == 0:
        return value >> (divisor.bit_length() - 1)
    type = _divisible(value.type)
    if not type.signed:
        return Typed(reciprocal_quotient(value.expr, divisor))
    word = Int(type.width, signed=False)
    sign = value >> (type.width - 1)
    found = reciprocal_quotient(cast(word, value ^ sign).expr, divisor, type.maximum)
    return cast(type, Typed(found)) ^ sign


def _logic(op: str, function: Callable[[int, int], int], a: Typed, b: Any) -> Typed:
    """Operation `op` on words, its truth table on bits."""
    if a.type == BIT:
        return _truth_table(lambda p, q, r: int(function(p, q)), a, b)
    return apply(op, a, b)


def _truth_table(function: Callable[[int, int, int], int], *bits: Any) -> Typed:
    """The three-input table of `function` on up to three bits."""
    table = sum(function(i & 1, i >> 1 & 1, i >> 2 & 1) << i for i in range(8))
    return apply("lut3", table, *bits, *[0] * (3 - len(bits)))
