"""Operations of processing elements on bfloat16 numbers, in words of 16 bits, and the unit that has them.

::

    a, b --- multiplier ---+--- fmul
                           +--- adder --- fmad     (c as late as the product)
    a, b ----------------------/  \\------ fadd, fsub
    a --- conversions --------------------- itof, ftoi
    a, b --- order ------------------------ comparisons, fmin, fmax

There is one multiplier and one adder. An operation takes the cycles of the parts that it goes through, so its latency
is its own; ``fmad`` rounds its product and then its sum. Arithmetic is that of `hw.float`: subnormal numbers, rounding
to the nearest, one pattern for what is no number. What needs no unit is an operation on words: ``select`` chooses
numbers too, ``xor`` changes a sign and ``and`` clears it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from hw.float import Float, FloatSpec, Integer, build_float
from hw.float.compare import ordering
from hw.lib.multiplexer import hold
from hw.lib.steps import Steps
from hw.ops import Kind, Operation

if TYPE_CHECKING:
    from hw.pe.config import PeSpec

__all__ = ["BFLOAT16", "BFLOAT16_OPERATIONS", "LONGEST_STEP", "Bfloat16Unit"]

BFLOAT16 = Float(8, 7)

LONGEST_STEP = 8
"""Cycles that the adder, and the multiplier, can take."""

_Array = np.ndarray[Any, Any]

_quiet = np.errstate(all="ignore")
"""Infinities and what is no number are results like others."""


def _numbers(patterns: Any) -> _Array:
    """Words, as signed or unsigned numbers, as the bfloat16 numbers that they are, in float32."""
    return ((np.asarray(patterns).astype(np.int64) & 0xFFFF) << 16).astype(np.uint32).view(np.float32)


def _patterns(numbers: _Array) -> _Array:
    """The words of the nearest bfloat16 numbers. Float32 has more than twice the digits, so that rounding sums and
    products of bfloat16 numbers a second time changes nothing."""
    wide = np.asarray(numbers, np.float32).view(np.uint32).astype(np.int64)
    rounded = (wide + 0x7FFF + (wide >> 16 & 1)) >> 16
    return np.where(np.isnan(numbers), BFLOAT16.nan, rounded)


def _arithmetic(function: Callable[[_Array, _Array], _Array]) -> Callable[..., _Array]:
    @_quiet
    def evaluate(width: int, a: Any, b: Any) -> _Array:
        return _patterns(function(_numbers(a), _numbers(b)))

    return evaluate


def _multiply_add(width: int, a: Any, b: Any, c: Any) -> _Array:
    return _arithmetic(np.add)(width, _arithmetic(np.multiply)(width, a, b), c)


def _comparison(function: Callable[[_Array, _Array], _Array]) -> Callable[..., _Array]:
    @_quiet
    def evaluate(width: int, a: Any, b: Any) -> _Array:
        return function(_numbers(a), _numbers(b)) * 1

    return evaluate


def _choice(better: Callable[[_Array, _Array], _Array]) -> Callable[..., _Array]:
    """Of a number and what is none the number, of equal ones the second."""
    @_quiet
    def evaluate(width: int, a: Any, b: Any) -> _Array:
        x, y = _numbers(a), _numbers(b)
        return np.where(np.isnan(y) | better(x, y), a, b)

    return evaluate


def _from_integer(width: int, a: Any) -> _Array:
    return _patterns(np.asarray(a).astype(np.float32))


@_quiet
def _to_integer(width: int, a: Any) -> _Array:
    """Towards zero; what int32 does not hold is its least number, of which the lower bits remain."""
    wide = _numbers(a).astype(np.float64)
    inside = np.abs(wide) < 2.0**31
    return np.where(inside, np.where(inside, wide, 0).astype(np.int64), 0)


def _build_nothing(*_: object) -> NoReturn:
    raise AssertionError("Bfloat16Unit builds operations on floating-point numbers, which take cycles")


_W, _B = Kind.WORD, Kind.BIT

_COMPARISONS = {"feq": np.equal, "fne": np.not_equal, "flt": np.less, "fge": np.greater_equal, "fgt": np.greater,
                "fle": np.less_equal}

_ENTRIES: Mapping[str, tuple[int, Kind, Callable[..., _Array]]] = {
    "fadd": (2, _W, _arithmetic(np.add)), "fsub": (2, _W, _arithmetic(np.subtract)),
    "fmul": (2, _W, _arithmetic(np.multiply)), "fmad": (3, _W, _multiply_add),
    "fmin": (2, _W, _choice(np.less)), "fmax": (2, _W, _choice(np.greater)),
    **{name: (2, _B, _comparison(function)) for name, function in _COMPARISONS.items()},
    "itof": (1, _W, _from_integer), "ftoi": (1, _W, _to_integer),
}

_FIRST_CODE = 49
"""Behind the codes of `hw.ops` and of the counter."""

BFLOAT16_OPERATIONS: dict[str, Operation] = {
    name: Operation(name, code, (_W,) * arity, result, evaluate, _build_nothing,
                    commutative=name in ("fadd", "fmul", "feq", "fne"))
    for code, (name, (arity, result, evaluate)) in enumerate(_ENTRIES.items(), _FIRST_CODE)}
"""The operations by name. Words are patterns but for the operand of ``itof``, an integer that is signed or not as the
element is configured, and the result of ``ftoi``, whose bits are those of both. `evaluate` gives patterns."""


class Bfloat16Unit:
    """The operations of `BFLOAT16_OPERATIONS` in module `m`, which step with `advance`: results of what the operand
    registers `words` held the cycles ago that `PeSpec.latency` says, less those of these registers themselves. They are
    taken before the choice of the own result, which no operation here can have: nothing from there is on the way."""

    def __init__(self, m: Module, spec: PeSpec, op: Value, advance: Value, words: Sequence[Value]) -> None:
        self._m, self._op, self._advance = m, op, advance
        a, b, c = (word[: BFLOAT16.width].as_unsigned() for word in words)
        product = self._built(FloatSpec("mul", BFLOAT16, spec.multiply_cycles), a, b)
        multiplies, subtracts = self._is("fmad"), self._is("fsub")
        other = Mux(multiplies, self._delayed(c, spec.multiply_cycles), Cat(b[:-1], b[-1] ^ subtracts))
        total = self._built(FloatSpec("add", BFLOAT16, spec.add_cycles), Mux(multiplies, product, a), other)
        self._found: dict[str, Value] = {"fmul": product, **dict.fromkeys(("fadd", "fsub", "fmad"), total)}
        integer = Integer(len(words[0]))
        self._found["itof"] = self._built(FloatSpec("cast", integer, spec.add_cycles, BFLOAT16), words[0])
        self._found["ftoi"] = self._built(FloatSpec("cast", BFLOAT16, spec.add_cycles, Integer(BFLOAT16.width)), a)
        self._order(a, b)

    def with_results(self, results: list[Value], kind: Kind) -> list[Value]:
        """`results` by code of the operation with those of this unit behind them."""
        last = max(entry.code for entry in BFLOAT16_OPERATIONS.values())
        more = results + [Const(0, 1)] * (1 + last - len(results))
        for name, entry in BFLOAT16_OPERATIONS.items():
            if entry.result is kind:
                more[entry.code] = self._found[name]
        return more

    def _is(self, name: str) -> Value:
        return self._op == BFLOAT16_OPERATIONS[name].code

    def _order(self, a: Value, b: Value) -> None:
        """Comparisons and what they choose, within the cycle."""
        spec = FloatSpec("lt", BFLOAT16)
        nan_a, nan_b, equal, less = ordering(Steps(self._m, lambda value, cycles: value), spec, [a, b])
        below, ordered = less & ~equal, ~(nan_a | nan_b)
        above = ~less & ~equal
        self._found |= {"feq": ordered & equal, "fne": ~(ordered & equal), "flt": ordered & below,
                        "fge": ordered & ~below, "fgt": ordered & above, "fle": ordered & ~above,
                        "fmin": Mux(nan_b | (~nan_a & below), a, b), "fmax": Mux(nan_b | (~nan_a & above), a, b)}

    def _built(self, spec: FloatSpec, *operands: Value) -> Value:
        return build_float(self._m, self._delayed, spec, operands)

    def _delayed(self, value: Value, cycles: int) -> Value:
        for _ in range(cycles):
            register = Signal(value.shape(), name="float_late", reset_less=True)
            self._m.d.sync += register.eq(hold(register, self._advance, value))
            value = register
        return value
