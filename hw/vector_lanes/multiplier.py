"""The fractured multiplier of a lane, which is its shifter and rotator too: four 17x17 multipliers for one 32x32, two
16x16 or four 8x8 products, signed or unsigned.

With words the four units make the partial products of 16-bit halves, with halfwords the outer two make one product
each, with bytes every unit makes one. The signs of the two operands are separate: a shift amount becomes a power of
two, which is unsigned while the other operand may be signed. Left shifts are the low half of the product, right shifts
by k the high half of the product with ``2**(n - k)``, rotations both halves together. Liu 2012, section 2.2:
multiplication, shift and rotation share one structure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hw.lib.wires import repeat, wire
from hw.vector_lanes.alu import top_bits
from hw.vector_lanes.resize import any_byte, by_size, from_last, per_byte

__all__ = [
    "PARTIAL_BITS", "PRODUCT_BITS", "ProductParts", "ShiftOperand", "lost", "partial_factors", "product_parts",
    "shift_operand", "sum_products",
]

PARTIAL_BITS = 34
PRODUCT_BITS = 64


class ShiftOperand(NamedTuple):
    """Power of two per element to multiply with, and per byte whether a right shift by 0 must take the low half."""

    power: Value
    low: Value


def shift_operand(m: Module, size: Value, amount: Value, left: Value, right: Value, rotate: Value) -> ShiftOperand:
    """What to multiply with in order to shift by `amount` (32 bits: unsigned elements).

    * `left` shift by k: 2**k; 0 from n on. The result is the low half of the product.
    * `right` shift by k: 2**(n - k), where amounts above n count as n. The result is the high half.
    * `rotate` left by k mod n: 2**(k mod n); with `right` as well, 2**(-k mod n). The result is both halves or-ed.
    """
    amount = wire(m, "amount", amount)
    firsts = [
        wire(m, "first", by_size(size, *(amount.word_select(first, 8)[:5] for first in places)))
        for places in _FIRST_BYTES
    ]
    large = wire(m, "large", _large(m, size, amount) & ~repeat(m, rotate, 4))
    power: list[Value] = []
    for place, first in enumerate(firsts):
        exponent = wire(m, "exponent", Mux(large[place], 0, Mux(right, -first, first)[:5]))
        here = _addressed(size, exponent, place) & ~(large[place] & left)
        power.append(_one_hot(exponent) & repeat(m, here, 8))
    zero = Cat(*(by_size(size, *(~first[:bits].any() for bits in (3, 4, 5))) for first in firsts))
    return ShiftOperand(Cat(*power), zero & ~large & repeat(m, right & ~rotate, 4))


_FIRST_BYTES = [(place, place & 2, 0) for place in range(4)]
"""For each byte of the lane the first byte of its element, by size."""


def _addressed(size: Value, exponent: Value, place: int) -> Value:
    """Whether bit number `exponent` of the element lies in byte `place` of the lane."""
    return by_size(size, Const(1, 1), exponent[3] == place % 2, exponent[3:5] == place)


def _one_hot(exponent: Value) -> Value:
    return Cat(*(exponent[:3] == bit for bit in range(8)))


def _large(m: Module, size: Value, amount: Value) -> Value:
    """Whether the amount is n or more, at all bytes of the element."""
    beyond = [
        by_size(size, *(
            amount.word_select(place, 8)[3 + code if first == place else 0 :].any()
            for code, first in enumerate(_FIRST_BYTES[place])
        ))
        for place in range(4)
    ]  # fmt: skip
    return any_byte(m, size, Cat(*beyond))


def partial_factors(
    m: Module, size: Value, x: Value, y: Value, x_signed: Value, y_signed: Value
) -> list[tuple[Value, Value]]:
    """What the four multipliers multiply, signed with 17 bits: low by low, low by high, high by low, high by high
    halves of the operands; the lower two numbers of bytes 0, 1, 2, 3. Products have `PARTIAL_BITS` bits."""
    x_signed, y_signed = wire(m, "x_signed", x_signed), wire(m, "y_signed", y_signed)
    # The low half of a word has no sign. Unit 1 takes the low half of x, unit 2 that of y.
    return [
        (_factor(m, size, x, unit, bool(unit & 2), x_signed), _factor(m, size, y, unit, bool(unit & 1), y_signed))
        for unit in range(4)
    ]


def _factor(m: Module, size: Value, operand: Value, unit: int, high: bool, is_signed: Value) -> Value:
    small, half = operand.word_select(unit, 8), operand.word_select(int(high), 16)
    half_sign = half[15] & is_signed & (Const(1, 1) if high else ~size[1])
    byte = Cat(small, repeat(m, small[7] & is_signed, 9))
    return wire(m, "factor", Mux(size == 0, byte, Cat(half, half_sign))).as_signed()


def sum_products(m: Module, size: Value, partial: Sequence[Value]) -> Value:
    """The exact products in fields of 2n bits (64 bits), out of the four partial ones."""
    halves, bytes_ = Cat(partial[0][:32], partial[3][:32]), Cat(*(unit[:16] for unit in partial))
    outer = wire(m, "outer", Mux(size == 0, bytes_, halves))
    middle = wire(m, "middle", Mux(size[1], partial[1].as_signed() + partial[2].as_signed(), 0))
    upper = outer[16:].as_signed() + middle.as_signed()
    return Cat(outer[:16], upper[: PRODUCT_BITS - 16])


class ProductParts(NamedTuple):
    """The n bits of each product at three places (32 bits each): from bit 0, from bit n, from the fraction bits."""

    low: Value
    high: Value
    fixed: Value


def product_parts(m: Module, size: Value, product: Value, fraction_bits: tuple[int, int, int]) -> ProductParts:
    """Cut the fields of 2n bits of `product` to n bits."""
    return ProductParts(
        *(
            wire(m, name, by_size(size, *(_cut(product, 8 << index, first[index]) for index in range(3))))
            for name, first in (("low", (0, 0, 0)), ("high", (8, 16, 32)), ("fixed", fraction_bits))
        )
    )


def _cut(product: Value, width: int, first: int) -> Value:
    return Cat(*(product[base + first : base + first + width] for base in range(0, PRODUCT_BITS, 2 * width)))


def lost(
    m: Module, size: Value, is_signed: Value, parts: ProductParts, fixed: Value, fraction_bits: tuple[int, int, int]
) -> Value:
    """Whether the exact product (`fixed`: the product shifted right by the fraction bits) does not fit n bits."""
    tops = Mux(fixed, top_bits(parts.fixed), top_bits(parts.low))
    sign = from_last(m, size, tops & repeat(m, is_signed, 4))
    counted = Mux(fixed, by_size(size, *map(_beyond_fraction, range(3), fraction_bits)), Const((1 << 32) - 1))
    beyond = wire(m, "beyond", (parts.high ^ per_byte(sign)) & counted)
    return any_byte(m, size, Cat(*(beyond.word_select(i, 8).any() for i in range(4))))


def _beyond_fraction(size: int, fraction: int) -> Value:
    """Mask of the bits of the high halves that do not enter a fixed-point result."""
    width = 8 << size
    element = (1 << width) - (1 << fraction)
    return Const(sum(element << base for base in range(0, 32, width)), 32)
