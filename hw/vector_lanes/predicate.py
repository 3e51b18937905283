"""Conditions on elements: comparisons, the predicates of conditional moves, and what they choose.

All of them are ``(less and use_less, or zero and use_zero) xor invert`` per element, where `less` is the sign of A - B
or of B's own true value, and `zero` is A = B or B = 0.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hw.lib.wires import repeat, wire
from hw.vector_lanes.resize import any_byte, starts

__all__ = ["choose", "condition", "is_zero", "truth"]


def is_zero(m: Module, size: Value, value: Value) -> Value:
    """Whether all bits of the element are zero, at all its bytes."""
    return ~any_byte(m, size, Cat(*(value.word_select(i, 8).any() for i in range(4))))


def condition(m: Module, less: Value, zero: Value, use_less: Value, use_zero: Value, invert: Value) -> Value:
    """The predicate per byte."""
    taken = (less & repeat(m, use_less, 4)) | (zero & repeat(m, use_zero, 4))
    return wire(m, "holds", taken ^ repeat(m, invert, 4))


def choose(bits: Value, yes: Value, no: Value) -> Value:
    """Byte by byte `yes` or `no`."""
    return Cat(*(Mux(bits[i], yes.word_select(i, 8), no.word_select(i, 8)) for i in range(4)))


def truth(size: Value, predicate: Value) -> Value:
    """A predicate as the number 0 or 1 in each element."""
    first = starts(size)
    return Cat(*(Cat(predicate[i] & first[i], Const(0, 7)) for i in range(4)))
