"""Floating-point operators for kernels: those of `hw.float` by the words of a node.

Words with an `exponent` (`hw.dataflow.spec.Word`) are floating-point numbers, and operations of `hw.ops` on them are
these: 8 of 32 bits is single precision, the ``dfeFloat(8, 24)`` (Bok 2018, section 3.3.2). Results round to nearest
even; subnormal numbers are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from amaranth.hdl import Module, Value

from hw.dataflow.spec import Operator, Word
from hw.float.operator import FLOAT_OPERATIONS, build_float
from hw.float.spec import Float, FloatSpec, Integer
from hw.lib.taps import Taps

__all__ = ["FLOAT_LATENCY", "Unit", "float_spec", "float_units", "is_floating"]

Unit = Callable[[Operator, Sequence[Value], Sequence[Word]], Value]
"""Builds the result of an operator, in the tick when it is done, from its operands in the tick of its `start`."""

FLOAT_LATENCY: Mapping[str, int] = {
    "add": 12, "sub": 12, "mul": 8, "mad": 14, "div": 30, "sqrt": 30, "exp": 24, "log": 28, "sin": 32, "cos": 32,
    "cast": 6, "eq": 1, "ne": 1, "lt": 1, "ge": 1,
    "gt": 1, "le": 1, "min": 2, "max": 2, "neg": 0, "abs": 0, "select": 1, "pass": 0,
}
"""Ticks of operations on floating-point numbers unless others are wanted (Bok 2018, section 5.5: an adder of 12
stages)."""

_FORMATLESS = ("read", "const", "table", "load", "store", "pass", "select")
"""What does the same to words of all formats."""


def is_floating(op: str, words: Sequence[Word]) -> bool:
    """Whether operation `op` computes with numbers of `words` that are floating-point ones."""
    return op not in _FORMATLESS and any(word.exponent for word in words)


def float_spec(op: str, words: Sequence[Word], word: Word, latency: int) -> FloatSpec:
    """The operator that takes `words` and gives `word`."""
    return FloatSpec(op, _format(words[0]), latency, _format(word) if op == "cast" else None)


def float_units(m: Module, taps: Taps) -> Mapping[str, Unit]:
    """The operators, by the names of their operations, in the kernel `m` with the registers `taps`."""
    delayed = partial(taps.delayed, name="float")

    def built(operator: Operator, operands: Sequence[Value], words: Sequence[Word]) -> Value:
        spec = float_spec(operator.op, words, operator.word, operator.latency)
        result = build_float(m, delayed, spec, operands)
        return result.as_signed() if operator.word.signed else result

    return dict.fromkeys(FLOAT_OPERATIONS, built)


def _format(word: Word) -> Float | Integer:
    if word.exponent:
        return Float(word.exponent, word.width - 1 - word.exponent)
    return Integer(word.width, word.signed)
