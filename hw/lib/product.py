"""Products that are wider than the multipliers of FPGAs, in two steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from amaranth.hdl import Const, Value

__all__ = ["is_wide", "product_in_steps"]

_OPERAND = 18
"""Bits of a signed operand of a multiplier: those of ECP5, Cyclone and Stratix; others have more."""


def is_wide(a: Value, b: Value) -> bool:
    """Whether ``a * b`` takes more than one multiplier, and none of the two is constant."""
    return not isinstance(a, Const) and not isinstance(b, Const) and max(map(_signed_bits, (a, b))) > _OPERAND


def product_in_steps(a: Value, b: Value, width: int, register: Callable[[Value], Value]) -> Value:
    """``a * b`` modulo ``2 ** width``: the sum of products of parts, which have a `register`, a cycle later."""
    total: Value = Const(0, width)
    for first, low in _parts(a):
        for second, high in _parts(b):
            shift = low + high
            if shift < width:
                part = first * second
                part = part[: width - shift] if len(part) > width - shift else part
                total = total + (register(part) << shift)
    return total[:width]


def _signed_bits(value: Value) -> int:
    return len(value) + (not value.shape().signed)


def _parts(value: Value) -> Iterator[tuple[Value, int]]:
    """Parts that are operands of a multiplier, the low ones unsigned, and the bit that each begins at."""
    bit = 0
    while len(value) - bit + (not value.shape().signed) > _OPERAND:
        yield value[bit : bit + _OPERAND - 1], bit
        bit += _OPERAND - 1
    last = value[bit:]
    yield last.as_signed() if value.shape().signed else last, bit
