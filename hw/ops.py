"""The table of operations: the only place where an arithmetic operation gets its meaning.

Each `Operation` states its arity and operand kinds and gives two independent meanings:

* ``evaluate(width, *operands)``: on mathematical integers (Python ints or numpy integer arrays whose
  elements are in the range of the operand type). The result is *unwrapped*; the caller wraps it to the
  result type. The compiler's reference interpreter uses this one.
* ``build(datapath)``: on Amaranth values, sharing the expensive units of a `Datapath`. The caller
  truncates the result to the word width. Processing elements and vector lanes use this one.

The tests compare the two for every entry, exhaustively at small widths, so adding an operation means
adding one entry here. Operation set: Liu 2023, section 7.1, and the published PE it cites.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from math import isqrt
from typing import Any

import numpy as np
from amaranth.hdl import Cat, Const, Mux, Value

__all__ = ["CHANGE_OF_SIGN", "DIVISIONS", "EVERY_OPERATION", "FLOAT_FUNCTIONS", "MULTIPLICATIONS", "OPERATIONS",
           "SQUARE_ROOT", "Datapath", "Kind", "Operation", "operation"]


class Kind(Enum):
    """What an operand or a result is: a data word, or a single bit (predicate)."""

    WORD = "word"
    BIT = "bit"


@dataclass(frozen=True)
class Datapath:
    """Operands of one ALU and the units that its operations share.

    `a`, `b`, `c` are ``signed(width + 1)`` values: words extended by their sign or by zero according to the
    signedness that is configured, so one circuit serves signed and unsigned operands alike. `p`, `q`, `r` are
    single bits, `table` the eight entries of the configured truth table. `product` is ``a * b`` and
    `difference` is ``a - b``, both exact.
    """

    width: int
    a: Value
    b: Value
    c: Value
    p: Value
    q: Value
    r: Value
    table: Value
    product: Value
    difference: Value

    @property
    def less(self) -> Value:
        """``a < b`` as one bit: the sign of the shared difference."""
        return self.difference[-1]


@dataclass(frozen=True)
class Operation:
    """One entry of the table. `code` is the operation's number in the PE configuration (6 bits)."""

    name: str
    code: int
    operands: tuple[Kind, ...]
    result: Kind
    evaluate: Callable[..., Any]
    build: Callable[[Datapath], Value]
    commutative: bool = False

    @property
    def arity(self) -> int:
        """Number of operands, word and bit operands together."""
        return len(self.operands)


def _shift_left(width: int, a: Any, b: Any) -> Any:
    return np.where(_amount(width, b) < width, a << np.minimum(_amount(width, b), width - 1), 0)


def _shift_right(width: int, a: Any, b: Any) -> Any:
    return a >> np.minimum(_amount(width, b), width)


def _amount(width: int, b: Any) -> Any:
    """A shift amount is the unsigned reading of its word: -1 shifts everything out."""
    return np.asarray(b) & ((1 << width) - 1)


def _build_shift(d: Datapath, *, left: bool) -> Value:
    amount = d.b[: d.width]
    low = amount[: (d.width - 1).bit_length()]
    out_of_range = amount >= d.width
    if left:
        return Mux(out_of_range, 0, d.a << low)
    return Mux(out_of_range, d.a[-1].replicate(d.width), d.a >> low)


def _lookup_bit(table: Any, p: Any, q: Any, r: Any) -> Any:
    return (table >> (p | (q << 1) | (r << 2))) & 1


def _quotient(a: Any, b: Any) -> Any:
    magnitude = np.abs(a) // np.maximum(np.abs(b), 1)
    return np.where(np.asarray(b) == 0, -1, np.where((np.asarray(a) < 0) != (np.asarray(b) < 0), -magnitude, magnitude))


def _remainder(a: Any, b: Any) -> Any:
    magnitude = np.abs(a) % np.maximum(np.abs(b), 1)
    return np.where(np.asarray(b) == 0, a, np.where(np.asarray(a) < 0, -magnitude, magnitude))


def _build_division(d: Datapath) -> tuple[Value, Value]:
    """Quotient and remainder by dividing magnitudes in one step."""
    above, below = (Mux(v[-1], -v, v)[: d.width + 1] for v in (d.a, d.b))
    quotient, remainder = above // below, above % below
    zero = d.b == 0
    return (Mux(zero, -1, Mux(d.a[-1] ^ d.b[-1], -quotient, quotient)),
            Mux(zero, d.a, Mux(d.a[-1], -remainder, remainder)))


W, B = Kind.WORD, Kind.BIT

_ENTRIES = (
    Operation("pass", 0, (W,), W, lambda w, a: a, lambda d: d.a),
    Operation("add", 1, (W, W), W, lambda w, a, b: a + b, lambda d: d.a + d.b, commutative=True),
    Operation("sub", 2, (W, W), W, lambda w, a, b: a - b, lambda d: d.difference),
    Operation("mul", 3, (W, W), W, lambda w, a, b: a * b, lambda d: d.product, commutative=True),
    Operation("mul_mid", 4, (W, W), W, lambda w, a, b: (a * b) >> (w // 2),
              lambda d: d.product >> (d.width // 2), commutative=True),
    Operation("mul_high", 5, (W, W), W, lambda w, a, b: (a * b) >> w,
              lambda d: d.product >> d.width, commutative=True),
    Operation("mad", 6, (W, W, W), W, lambda w, a, b, c: a * b + c, lambda d: d.product + d.c),
    Operation("shl", 7, (W, W), W, _shift_left, lambda d: _build_shift(d, left=True)),
    Operation("shr", 8, (W, W), W, _shift_right, lambda d: _build_shift(d, left=False)),
    Operation("and", 9, (W, W), W, lambda w, a, b: a & b, lambda d: d.a & d.b, commutative=True),
    Operation("or", 10, (W, W), W, lambda w, a, b: a | b, lambda d: d.a | d.b, commutative=True),
    Operation("xor", 11, (W, W), W, lambda w, a, b: a ^ b, lambda d: d.a ^ d.b, commutative=True),
    Operation("min", 12, (W, W), W, lambda w, a, b: np.minimum(a, b),
              lambda d: Mux(d.less, d.a, d.b), commutative=True),
    Operation("max", 13, (W, W), W, lambda w, a, b: np.maximum(a, b),
              lambda d: Mux(d.less, d.b, d.a), commutative=True),
    Operation("abs", 14, (W,), W, lambda w, a: np.abs(a), lambda d: Mux(d.a[-1], -d.a, d.a)),
    Operation("absd", 15, (W, W), W, lambda w, a, b: np.abs(a - b),
              lambda d: Mux(d.less, -d.difference, d.difference), commutative=True),
    Operation("select", 16, (B, W, W), W, lambda w, p, a, b: np.where(np.asarray(p) != 0, a, b),
              lambda d: Mux(d.p, d.a, d.b)),
    Operation("eq", 17, (W, W), B, lambda w, a, b: (a == b) * 1, lambda d: d.difference == 0, commutative=True),
    Operation("ne", 18, (W, W), B, lambda w, a, b: (a != b) * 1, lambda d: d.difference != 0, commutative=True),
    Operation("lt", 19, (W, W), B, lambda w, a, b: (a < b) * 1, lambda d: d.less),
    Operation("ge", 20, (W, W), B, lambda w, a, b: (a >= b) * 1, lambda d: ~d.less),
    Operation("gt", 21, (W, W), B, lambda w, a, b: (a > b) * 1, lambda d: ~d.less & (d.difference != 0)),
    Operation("le", 22, (W, W), B, lambda w, a, b: (a <= b) * 1, lambda d: d.less | (d.difference == 0)),
    # The truth table comes first among the operands of `evaluate`; hardware takes it from configuration.
    Operation("lut3", 23, (B, B, B), B, lambda w, table, p, q, r: _lookup_bit(table, p, q, r),
              lambda d: d.table.bit_select(Cat(d.p, d.q, d.r), 1)),
    # Longer numbers are added and subtracted word by word: the bit that a sum has beyond the words of its operands goes
    # on to the next words. What a difference borrows there is `lt`.
    Operation("carry", 27, (W, W), B, lambda w, a, b: (a + b) >> w & 1, lambda d: (d.a + d.b)[d.width],
              commutative=True),
    Operation("adc", 28, (W, W, B), W, lambda w, a, b, p: a + b + p, lambda d: d.a + d.b + d.p),
    Operation("sbb", 29, (W, W, B), W, lambda w, a, b, p: a - b - p, lambda d: d.difference - d.p),
)

OPERATIONS: dict[str, Operation] = {entry.name: entry for entry in _ENTRIES}


MULTIPLICATIONS = ("mul", "mul_mid", "mul_high", "mad")
"""Those that take multipliers."""

_DIVISION_ENTRIES = (
    Operation("div", 24, (W, W), W, lambda w, a, b: _quotient(a, b), lambda d: _build_division(d)[0]),
    Operation("rem", 25, (W, W), W, lambda w, a, b: _remainder(a, b), lambda d: _build_division(d)[1]),
)

DIVISIONS: dict[str, Operation] = {entry.name: entry for entry in _DIVISION_ENTRIES}
"""Operations that the ALUs of processing elements and vector lanes do not have: rounding towards zero, as in C.

What C leaves undefined is as in RISC-V: division by zero gives all ones and the dividend as remainder.
"""

CHANGE_OF_SIGN = Operation("neg", 26, (W,), W, lambda w, a: -a, lambda d: -d.a)
"""What floating-point numbers cannot do by subtraction from zero; see `hw.float`."""


def _root(width: int, a: Any) -> Any:
    return np.vectorize(lambda value: isqrt(max(0, int(value))), otypes=[object])(a)


def _build_root(d: Datapath) -> Value:
    """A bit of the root per step, from the top."""
    root: Value = Const(0, 1)
    for bit in reversed(range((d.width + 1) // 2)):
        trial = root | (1 << bit)
        root = Mux(trial * trial <= d.a, trial, root)
    return root


SQUARE_ROOT = Operation("sqrt", 30, (W,), W, _root, _build_root)
"""Of integers rounded down, that of negative ones 0."""

def _of_floats(width: int, *operands: Any) -> Any:
    raise TypeError("only floating-point numbers have this function")


FLOAT_FUNCTIONS: dict[str, Operation] = {
    name: Operation(name, code, (W,), W, _of_floats, lambda d: _of_floats(d.width))
    for code, name in enumerate(("exp", "log", "sin", "cos"), 31)}
"""Functions that integers do not have; what they are of floating-point numbers is in `hw.float.functions`."""

EVERY_OPERATION: dict[str, Operation] = OPERATIONS | DIVISIONS | {
    entry.name: entry for entry in (CHANGE_OF_SIGN, SQUARE_ROOT)}
"""All entries with a meaning for integers."""


def operation(name: str) -> Operation:
    """The entry called `name`. Raises `KeyError` with the names there are."""
    try:
        return FLOAT_FUNCTIONS[name] if name in FLOAT_FUNCTIONS else EVERY_OPERATION[name]
    except KeyError:
        raise KeyError(f"unknown operation '{name}'; there are: {', '.join(sorted(EVERY_OPERATION))}") from None
