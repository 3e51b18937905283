"""The fractured adder and logic unit of a lane: one carry chain serves one word, two halfwords or four bytes.

Between the bytes the chain has guard positions. Both of a guard's operand bits equal to the carry-in of an element
end the chain below and start a new one; a one and a zero let the carry of the byte below pass. Liu 2012, section 2.2.
Operations by `hw.ops`: add, sub, and, or, xor, lt (the sign of the exact difference).
"""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Cat, Module, Value

from hw.lib.wires import repeat, wire
from hw.vector_lanes.resize import from_last, starts

__all__ = ["FracturedSum", "add_subtract", "fractured_add", "logic", "top_bits"]


class FracturedSum(NamedTuple):
    """32 bits of sums, and the carry out of each byte (4 bits; meaningful at the last byte of an element)."""

    value: Value
    carry: Value


def fractured_add(m: Module, size: Value, x: Value, y: Value, carry_in: Value) -> FracturedSum:
    """``x + y + carry_in`` in each element. `carry_in`: 4 bits; the one at an element's first byte counts."""
    x, y, carry_in = wire(m, "augend", x), wire(m, "addend", y), wire(m, "carry_in", carry_in)
    first = wire(m, "starts", starts(size))
    left = Cat(*(Cat(~first[i] | carry_in[i], x.word_select(i, 8)) for i in range(4)))
    right = Cat(*(Cat(first[i] & carry_in[i], y.word_select(i, 8)) for i in range(4)))
    total = wire(m, "total", left + right)
    value = Cat(*(total[9 * i + 1 : 9 * i + 9] for i in range(4)))
    return FracturedSum(wire(m, "sum", value), Cat(*(total[9 * i + 9] for i in range(4))))


def top_bits(value: Value) -> Value:
    """The most significant bit of each byte."""
    return Cat(*(value[8 * i + 7] for i in range(4)))


def add_subtract(
    m: Module, size: Value, is_signed: Value, subtract: Value, a: Value, b: Value, carry_flags: Value
) -> tuple[Value, Value]:
    """``a + b + carry`` or ``a - b - carry``: the low n bits, and bit n of the exact result of n + 1 bits.

    That bit, at all bytes of the element, is the carry or borrow of unsigned and the true sign of signed operands.
    """
    inverted = repeat(m, subtract, 4)
    total = fractured_add(m, size, a, b ^ repeat(m, subtract, 32), carry_flags ^ inverted)
    signs = (top_bits(a) ^ top_bits(b)) & repeat(m, is_signed, 4)
    return total.value, from_last(m, size, signs ^ total.carry ^ inverted)


def logic(table: Value, a: Value, b: Value) -> Value:
    """A bitwise function by its truth table: `table` holds its values for (a, b) = (1, 1), (1, 0) and (0, 1)."""
    both, only_a, only_b = (table[index].replicate(len(a)) for index in range(3))
    return (a & b & both) | (a & ~b & only_a) | (~a & b & only_b)
