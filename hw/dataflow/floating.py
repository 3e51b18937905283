"""Floating-point operators for kernels: IEEE 754 addition and multiplication of any format, rounding to nearest even.

Operations ``float_add`` and ``float_mul`` of `hw.dataflow.spec.Operator`; `Operator.value` is the number of exponent
bits, the word's other bits but the sign are the fraction (8 of 32: single precision, the seed's ``dfeFloat(8, 24)``,
section 3.3.2). Subnormal numbers, signed zeros, infinities and not-a-numbers (one quiet pattern) are those of the
standard. They only meet the rest of a kernel through their words and their latency, whose registers are spread over
three cuts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from amaranth.hdl import C, Cat, Module, Mux, Shape, Signal, Value, signed

from hw.dataflow.operators import Unit
from hw.dataflow.pipeline import Taps
from hw.dataflow.spec import Operator, Word

__all__ = ["float_units"]

Wire = Callable[..., Value]
"""The value through a signal of its own (of a shape), so that it is built once however often it is used."""

Cut = Callable[[Value], Value]
"""Registers at one place of an operator."""


@dataclass(frozen=True)
class _Number:
    """An operand: `exponent` is at least 1, `significand` has the hidden bit on top."""

    sign: Value
    exponent: Value
    significand: Value
    magnitude: Value
    infinite: Value
    nan: Value


@dataclass(frozen=True)
class _Format:
    exponent: int
    fraction: int

    @property
    def bias(self) -> int:
        """What is added to exponents."""
        return (1 << self.exponent - 1) - 1

    @property
    def infinity(self) -> int:
        """The magnitude of infinity."""
        return ((1 << self.exponent) - 1) << self.fraction

    @property
    def nan(self) -> int:
        """The one quiet not-a-number that results have."""
        return self.infinity | 1 << self.fraction - 1

    def unpack(self, bits: Value) -> _Number:
        """The parts of a word."""
        bits = bits.as_unsigned() if isinstance(bits, Value) else bits
        fraction, exponent = bits[: self.fraction], bits[self.fraction : -1]
        normal, top = exponent.any(), exponent.all()
        return _Number(bits[-1], Mux(normal, exponent, 1), Cat(fraction, normal), bits[:-1],
                       top & ~fraction.any(), top & fraction.any())

    def pack(self, sign: Value, exponent: Value, kept: Value, up: Value) -> Value:
        """The rounded word: `kept` has the hidden bit, `exponent` is at least 1; too large is infinite."""
        magnitude = ((exponent - 1) << self.fraction) + kept + up
        wide = magnitude[: self.fraction + self.exponent + 2]
        return Cat(Mux(wide >= self.infinity, self.infinity, wide)[: self.fraction + self.exponent], sign)


def float_units(m: Module, taps: Taps) -> Mapping[str, Unit]:
    """The operators, by the names of their operations, in the kernel `m` with the registers `taps`."""

    def wire(value: Value, shape: Shape | None = None) -> Value:
        signal = Signal(value.shape() if shape is None else shape, name="float")
        m.d.comb += signal.eq(value)
        return signal

    def unit(build: Callable[[_Format, Wire, Value, Value, Sequence[Cut]], Value]) -> Unit:
        def built(operator: Operator, operands: Sequence[Value], words: Sequence[Word]) -> Value:
            form = _Format(operator.value, operator.word.width - 1 - operator.value)
            result = wire(build(form, wire, operands[0], operands[1], _cuts(wire, taps, operator.latency)))
            return result.as_signed() if operator.word.signed else result

        return built

    return {"float_add": unit(_add), "float_mul": unit(_multiply)}


def _cuts(wire: Wire, taps: Taps, latency: int) -> list[Cut]:
    """Three places for `latency` registers in all, the last ones first."""

    def cut(place: int) -> Cut:
        count = (latency + place) // 3
        return lambda value: taps.delayed(wire(value), count, "float")

    return [cut(place) for place in range(3)]


def _sticky(wire: Wire, value: Value, distance: Value, limit: int) -> Value:
    """`value` shifted right by up to `limit`, its lowest bit also standing for all that is shifted out."""
    shifted, lost = value, C(0, 1)
    amount = wire(Mux(distance > limit, limit, distance))
    for bit in reversed(range(limit.bit_length())):
        step = 1 << bit
        lost = wire(lost | (amount[bit] & shifted[:step].any()))
        shifted = wire(Mux(amount[bit], shifted >> step, shifted))
    return Cat(shifted[0] | lost, shifted[1 : len(value)])


def _leading_zeros(wire: Wire, value: Value) -> Value:
    """Zeros above the highest one; the width if there is none."""
    count: Value = C(len(value))
    for position in range(len(value)):
        count = Mux(value[position], len(value) - 1 - position, count)
    return wire(count)


def _add(form: _Format, wire: Wire, left: Value, right: Value, cuts: Sequence[Cut]) -> Value:
    a, b = form.unpack(left), form.unpack(right)
    swap = wire(b.magnitude > a.magnitude)
    sign, other = Mux(swap, b.sign, a.sign), Mux(swap, a.sign, b.sign)
    exponent = Mux(swap, b.exponent, a.exponent)
    large = Cat(C(0, 3), Mux(swap, b.significand, a.significand))
    distance = Mux(swap, b.exponent - a.exponent, a.exponent - b.exponent)[: form.exponent]
    small = _sticky(wire, Cat(C(0, 3), Mux(swap, a.significand, b.significand)), distance, len(large) - 1)
    nan = a.nan | b.nan | (a.infinite & b.infinite & (a.sign ^ b.sign))
    facts = cuts[0](Cat(sign, other, exponent, a.infinite | b.infinite, nan, large, small))
    wide = len(large)
    sign, other, exponent, infinite, nan, large, small = _split(facts, (1, 1, form.exponent, 1, 1, wide, wide))
    total = wire(Mux(sign ^ other, large - small, large + small)[: len(large) + 1])
    facts = cuts[1](Cat(sign, other, exponent, infinite, nan, total))
    sign, other, exponent, infinite, nan, total = _split(facts, (1, 1, form.exponent, 1, 1, len(large) + 1))
    zeros = _leading_zeros(wire, total[:-1])
    room = exponent - 1
    shift = wire(Mux(zeros > room, room, zeros)[: form.exponent])
    carry = total[-1]
    width = len(large)
    left_by = (total[:-1] << shift[: width.bit_length()])[:width]
    normal = Mux(carry, Cat(total[0] | total[1], total[2:]), left_by)[:width]
    exponent = Mux(carry, exponent + 1, exponent - shift)
    facts = cuts[2](Cat(sign, other, exponent[: form.exponent + 1], infinite, nan, normal, total.any()))
    sign, other, exponent, infinite, nan, normal, some = _split(facts, (1, 1, form.exponent + 1, 1, 1, width, 1))
    up = normal[2] & (normal[0] | normal[1] | normal[3])
    zero = Cat(C(0, form.exponent + form.fraction), sign & other)
    return _special(form, nan, infinite, sign, Mux(some, form.pack(sign, exponent, normal[3:], up), zero))


def _multiply(form: _Format, wire: Wire, left: Value, right: Value, cuts: Sequence[Cut]) -> Value:
    a, b = form.unpack(left), form.unpack(right)
    width = form.fraction + 1
    sign = a.sign ^ b.sign
    zero = ~(a.significand.any() & b.significand.any())
    infinite = a.infinite | b.infinite
    nan = a.nan | b.nan | (infinite & zero)
    parts = []
    for number in (a, b):
        lead = _leading_zeros(wire, number.significand)
        parts.append(((number.significand << lead)[:width], number.exponent - lead))
    exponent = wire(parts[0][1] + parts[1][1] - form.bias, signed(form.exponent + 4))
    facts = cuts[0](Cat(parts[0][0], parts[1][0], exponent, sign, infinite, nan, zero))
    one, two, raw, sign, infinite, nan, zero = _split(facts, (width, width, form.exponent + 4, 1, 1, 1, 1))
    product = wire((one * two)[: 2 * width])
    facts = cuts[1](Cat(product, raw, sign, infinite, nan, zero))
    product, raw, sign, infinite, nan, zero = _split(facts, (2 * width, form.exponent + 4, 1, 1, 1, 1))
    top = product[-1]
    exponent = wire(raw.as_signed() + top, signed(form.exponent + 4))
    aligned = Mux(top, product, product << 1)[: 2 * width]
    below = Mux(exponent < 1, 1 - exponent, C(0, signed(2)))[: form.exponent + 4]
    shifted = _sticky(wire, aligned, below.as_unsigned(), 2 * width - 1)
    least = Mux(exponent < 1, C(1, signed(2)), exponent)[: form.exponent + 3]
    facts = cuts[2](Cat(shifted, least, sign, infinite, nan, zero))
    shifted, least, sign, infinite, nan, zero = _split(facts, (2 * width, form.exponent + 3, 1, 1, 1, 1))
    up = shifted[width - 1] & (shifted[: width - 1].any() | shifted[width])
    large = least >= (1 << form.exponent) - 1
    packed = form.pack(sign, least[: form.exponent + 1], shifted[width:], up)
    finite = Mux(zero, Cat(C(0, form.exponent + form.fraction), sign), packed)
    return _special(form, nan, (infinite | large) & ~zero, sign, finite)


def _split(bits: Value, widths: Sequence[int]) -> list[Value]:
    """The parts of a concatenation, lowest first."""
    found, start = [], 0
    for width in widths:
        found.append(bits[start : start + width])
        start += width
    return found


def _special(form: _Format, nan: Value, infinite: Value, sign: Value, finite: Value) -> Value:
    width = form.exponent + form.fraction + 1
    return Mux(nan, C(form.nan, width), Mux(infinite, Cat(C(form.infinity, width - 1), sign), finite))[:width]
