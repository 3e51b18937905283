"""Sizes of elements within one lane of 32 bits: widening, broadcasting and narrowing.

Per-byte bits (flags, carries, predicates, enables) are four-bit values, bit i for byte i of the lane. An element of
one, two or four bytes has the same bit at all its bytes; `from_first` and `from_last` make it so.

Combinational functions here and in the modules that build on it add their intermediate signals to module `m`.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hw.lib.multiplexer import multiplex
from hw.lib.wires import repeat, wire

__all__ = [
    "any_byte", "broadcast", "by_size", "enumerate_lane", "from_first", "from_last", "narrow", "per_byte", "starts",
    "widen", "widen_flags",
]


def by_size(size: Value, byte: Value, half: Value, word: Value) -> Value:
    """The choice for `size` (0 byte, 1 halfword, 2 word)."""
    return multiplex(size, [byte, half, word])


def per_byte(bits: Value) -> Value:
    """Each of four bits, eight times: a mask of the bytes of a lane."""
    return Cat(*(bits[index].replicate(8) for index in range(4)))


def starts(size: Value) -> Value:
    """Which bytes of the lane are the first of an element."""
    byte = size == 0
    return Cat(Const(1, 1), byte, ~size[1], byte)


def from_first(m: Module, size: Value, bits: Value) -> Value:
    """The bit at the first byte of each element, at all bytes of the element."""
    bits = wire(m, "firsts", bits)
    half = Cat(bits[0], bits[0], bits[2], bits[2])
    return wire(m, "spread", by_size(size, bits, half, bits[0].replicate(4)))


def from_last(m: Module, size: Value, bits: Value) -> Value:
    """The bit at the last byte of each element, at all bytes of the element."""
    bits = wire(m, "lasts", bits)
    half = Cat(bits[1], bits[1], bits[3], bits[3])
    return wire(m, "spread", by_size(size, bits, half, bits[3].replicate(4)))


def any_byte(m: Module, size: Value, bits: Value) -> Value:
    """Whether the bit of any byte of the element is set, at all bytes of the element."""
    bits = wire(m, "each", bits)
    half = Cat(repeat(m, bits[:2].any(), 2), repeat(m, bits[2:].any(), 2))
    return wire(m, "spread", by_size(size, bits, half, repeat(m, bits.any(), 4)))


def widen(m: Module, size: Value, growth: Value, is_signed: Value, word: Value, half: Value, byte: Value) -> Value:
    """The elements of a lane at execution size, out of what they are in memory.

    `growth`: how many times their size doubles. `word`, `half` and `byte` are the lane's share of the row for a growth
    of 0, 1 and 2. Extended by sign or by zero.
    """
    twice_byte = Cat(*(_extend(m, half.word_select(index, 8), is_signed, 16) for index in range(2)))
    twice = Mux(size[1], _extend(m, half, is_signed, 32), twice_byte)
    return wire(m, "widened", multiplex(growth, [word, twice, _extend(m, byte, is_signed, 32)]))


def _extend(m: Module, value: Value, is_signed: Value, width: int) -> Value:
    return Cat(value, repeat(m, value[-1] & is_signed, width - len(value)))


def widen_flags(m: Module, size: Value, growth: Value, word: Value, half: Value, byte: Value) -> Value:
    """The flag of each element, at all its bytes of execution size. Of an element in memory the first byte counts."""
    twice = Mux(size[1], half[0].replicate(4), Cat(half[0], half[0], half[1], half[1]))
    return wire(m, "widened_flags", multiplex(growth, [from_first(m, size, word), twice, byte[0].replicate(4)]))


def broadcast(size: Value, scalar: Value) -> Value:
    """The low bits of a scalar in every element."""
    return by_size(size, scalar[:8].replicate(4), scalar[:16].replicate(2), scalar)


def enumerate_lane(size: Value, index: Value, lane: Value) -> Value:
    """Element numbers: `index` (in every element) is that of the wavefront's first element, a multiple of the elements
    of a wavefront, so that its low bits are free for the place in the wavefront. `lane` numbers the lane."""
    byte = Cat(*(Cat(Const(place, 2), lane)[:8] for place in range(4)))
    half = Cat(*(Cat(Const(place, 1), lane, Const(0, 9)) for place in range(2)))
    return index | by_size(size, byte, half, lane)


def narrow(size: Value, word: Value, unit: int) -> Value:
    """Elements at half their execution size (halfword or word): half as many items of `unit` bits as in `word`."""
    items = [word.word_select(index, unit) for index in range(4)]
    return Mux(size[1], Cat(*items[:2]), Cat(items[0], items[2]))
