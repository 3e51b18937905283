"""Comparisons, the smaller and the larger of two numbers, and what only changes a sign."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from amaranth.hdl import C, Cat, Mux, Value

from hw.float.parts import Number, unpack
from hw.float.spec import FloatSpec
from hw.lib.steps import Steps

__all__ = ["absolute", "compared", "negate", "ordering", "smaller_or_larger"]

_Build = Callable[[Steps, FloatSpec, Sequence[Value]], Value]


def negate(steps: Steps, spec: FloatSpec, operands: Sequence[Value]) -> Value:
    """The other sign, of what is no number, too."""
    return Cat(operands[0][:-1], ~operands[0][-1])


def absolute(steps: Steps, spec: FloatSpec, operands: Sequence[Value]) -> Value:
    """A clear sign."""
    return Cat(operands[0][:-1], C(0, 1))


def compared(name: str) -> _Build:
    """Comparison `name`: a bit. With what is no number all are false but ``ne``."""
    def build(steps: Steps, spec: FloatSpec, operands: Sequence[Value]) -> Value:
        a, b = _unpacked(steps, spec, operands)
        ordered = ~(a.nan | b.nan)
        equal, less = _order(steps, spec, a, b)
        return {"eq": ordered & equal, "ne": ~ordered | ~equal, "lt": ordered & less & ~equal,
                "le": ordered & (less | equal), "gt": ordered & ~less & ~equal, "ge": ordered & (~less | equal)}[name]

    return build


def smaller_or_larger(name: str) -> _Build:
    """``min`` or ``max``: of a number and what is none the number, of equal operands the second."""
    def build(steps: Steps, spec: FloatSpec, operands: Sequence[Value]) -> Value:
        a, b = _unpacked(steps, spec, operands)
        equal, less = _order(steps, spec, a, b)
        better = ~equal & (less if name == "min" else ~less)
        steps.takes("select", len(operands[0]))
        return Mux(b.nan | (better & ~a.nan), operands[0], operands[1])

    return build


def ordering(steps: Steps, spec: FloatSpec, operands: Sequence[Value]) -> tuple[Value, Value, Value, Value]:
    """Whether each of two numbers is none, whether they are equal, and whether the first is less, which means nothing
    if they are equal or one is no number."""
    a, b = _unpacked(steps, spec, operands)
    return a.nan, b.nan, *_order(steps, spec, a, b)


def _unpacked(steps: Steps, spec: FloatSpec, operands: Sequence[Value]) -> tuple[Number, Number]:
    a, b = (unpack(spec.number, steps.wire(operand), subnormals=spec.subnormals) for operand in operands)
    return a, b


def _order(steps: Steps, spec: FloatSpec, a: Number, b: Number) -> tuple[Value, Value]:
    """Whether numbers are equal, and whether the first is less, which means nothing if they are."""
    steps.takes("lt", spec.number.width)
    same = steps.wire(a.magnitude == b.magnitude)
    below = steps.wire(a.magnitude < b.magnitude)
    zeros = ~(a.magnitude.any() | b.magnitude.any())
    less = Mux(a.sign ^ b.sign, a.sign, below ^ a.sign)
    return steps.wire(zeros | (same & ~(a.sign ^ b.sign))), steps.wire(less)
