"""Floating-point operators for kernels: IEEE 754 arithmetic of any format, rounding to nearest even.

Words with an `exponent` (`hw.dataflow.spec.Word`) are floating-point numbers, and operations of `hw.ops` on them are
these: 8 of 32 bits is single precision, the ``dfeFloat(8, 24)`` (Bok 2018, section 3.3.2). Subnormal numbers,
signed zeros and infinities are those of the standard; arithmetic that gives no number gives one quiet pattern with a
clear sign. Changes of sign and absolute values keep all other bits. Comparisons with what is no number are false,
``ne`` is true. Conversions round to nearest even, those to integers towards zero (what does not fit becomes the most
negative number of 32 or, for results that need them, 64 bits, cut to the result's width).

Operators only meet the rest of a kernel through their words and their latency, whose registers are spread evenly over
the places between their steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from amaranth.hdl import C, Cat, Module, Mux, Shape, Signal, Value, signed

from hw.dataflow.pipeline import Taps
from hw.dataflow.spec import Operator, Word

__all__ = ["FLOAT_LATENCY", "Unit", "float_units"]

Unit = Callable[[Operator, Sequence[Value], Sequence[Word]], Value]
"""Builds the result of an operator, in the tick when it is done, from its operands in the tick of its `start`."""

FLOAT_LATENCY: Mapping[str, int] = {
    "add": 12, "sub": 12, "mul": 8, "div": 30, "cast": 6, "eq": 1, "ne": 1, "lt": 1, "ge": 1, "gt": 1, "le": 1,
    "neg": 0, "abs": 0, "select": 1, "pass": 0,
}
"""Ticks of operations on floating-point numbers unless others are wanted: one step of at most a carry chain or a few
levels of logic in each (Bok 2018, section 5.5: an adder of 12 stages)."""


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
class _Exact:
    """A result before it is rounded: the significand's highest bit is the hidden one (unless `zero`), its lowest stands
    for all that is lost; `exponent` (signed) is that of the format, and may be out of its range."""

    sign: Value
    exponent: Value
    significand: Value
    infinite: Value
    nan: Value
    zero: Value


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
        bits = bits.as_unsigned()
        fraction, exponent = bits[: self.fraction], bits[self.fraction : -1]
        normal, top = exponent.any(), exponent.all()
        return _Number(bits[-1], Mux(normal, exponent, 1), Cat(fraction, normal), bits[:-1],
                       top & ~fraction.any(), top & fraction.any())

    def pack(self, sign: Value, exponent: Value, kept: Value, up: Value) -> Value:
        """The rounded word: `kept` has the hidden bit, `exponent` is at least 1; too large is infinite."""
        magnitude = ((exponent - 1) << self.fraction) + kept + up
        wide = magnitude[: self.fraction + self.exponent + 2]
        return Cat(Mux(wide >= self.infinity, self.infinity, wide)[: self.fraction + self.exponent], sign)

    def special(self, nan: Value, infinite: Value, sign: Value, finite: Value) -> Value:
        """The word, given what it is."""
        width = self.exponent + self.fraction + 1
        endless = Cat(C(self.infinity, width - 1), sign)
        return Mux(nan, C(self.nan, width), Mux(infinite, endless, finite))[:width]


def _format(word: Word) -> _Format:
    return _Format(word.exponent, word.width - 1 - word.exponent)


class _Steps:
    """Builds one operator in kernel `m`: values get names so that they are built once, and registers between steps."""

    def __init__(self, m: Module, taps: Taps, latency: int, places: int) -> None:
        self._m, self._taps = m, taps
        ends = [latency * k // places for k in range(places + 1)]
        self._counts = [end - start for start, end in pairwise(ends)]

    def wire(self, value: Value, shape: Shape | None = None) -> Signal:
        """The value through a signal of its own (of a shape)."""
        signal = Signal(value.shape() if shape is None else shape, name="float")
        self._m.d.comb += signal.eq(value)
        return signal

    def cut(self, *values: Value) -> list[Value]:
        """The values behind the registers of the next place."""
        count = self._counts.pop(0)
        return [self._taps.delayed(self.wire(value), count, "float") for value in values]

    def finish(self, value: Value) -> Value:
        """The result behind the registers of all places that are left."""
        return self._taps.delayed(self.wire(value), sum(self._counts), "float")

    def sticky(self, value: Value, distance: Value, limit: int) -> Value:
        """`value` shifted right by up to `limit`, its lowest bit also standing for all that is shifted out."""
        shifted, lost = value, C(0, 1)
        amount = self.wire(Mux(distance > limit, limit, distance))
        for bit in reversed(range(limit.bit_length())):
            step = 1 << bit
            lost = self.wire(lost | (amount[bit] & shifted[:step].any()))
            shifted = self.wire(Mux(amount[bit], shifted >> step, shifted))
        return Cat(shifted[0] | lost, shifted[1 : len(value)])

    def leading_zeros(self, value: Value) -> Value:
        """Zeros above the highest one; the width if there is none. A tree of halves."""
        if len(value) == 1:
            return ~value
        half = len(value) // 2
        high, low = value[half:], value[:half]
        return self.wire(Mux(high.any(), self.leading_zeros(high), len(high) + self.leading_zeros(low)))

    def round(self, form: _Format, exact: _Exact) -> Value:
        """The word nearest to `exact`: two places for registers. The significand has more bits than the format."""
        width, extra = len(exact.significand), len(exact.significand) - form.fraction - 1
        low = exact.exponent < 1
        below = Mux(low, 1 - exact.exponent, C(0, signed(2)))[: len(exact.exponent)]
        shifted = self.sticky(exact.significand, below.as_unsigned(), width - 1)
        least = Mux(low, C(1, signed(2)), exact.exponent)[: len(exact.exponent)]
        shifted, least, sign, infinite, nan, zero = self.cut(shifted, least, exact.sign, exact.infinite, exact.nan,
                                                             exact.zero)
        rest = shifted[: extra - 1].any() if extra > 1 else C(0, 1)
        up = shifted[extra - 1] & (rest | shifted[extra])
        large = least >= (1 << form.exponent) - 1
        packed = form.pack(sign, least[: form.exponent + 1], shifted[extra:], up)
        packed, large, sign, infinite, nan, zero = self.cut(packed, large, sign, infinite, nan, zero)
        finite = Mux(zero, Cat(C(0, form.exponent + form.fraction), sign), packed)
        return form.special(nan, (infinite | large) & ~zero, sign, finite)


_Build = Callable[[_Steps, Operator, Sequence[Value], Sequence[Word]], Value]


def float_units(m: Module, taps: Taps) -> Mapping[str, Unit]:
    """The operators, by the names of their operations, in the kernel `m` with the registers `taps`."""

    def unit(build: _Build, places: int | None = None) -> Unit:
        def built(operator: Operator, operands: Sequence[Value], words: Sequence[Word]) -> Value:
            steps = _Steps(m, taps, operator.latency, _division_places(operator.word) if places is None else places)
            result = steps.finish(build(steps, operator, operands, words))
            return result.as_signed() if operator.word.signed else result

        return built

    compared = {name: unit(_comparison(name), 1) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
    return {"add": unit(_add, 12), "sub": unit(_subtract, 12), "mul": unit(_multiply, 8), "div": unit(_divide),
            "neg": unit(_negate, 1), "abs": unit(_absolute, 1), "cast": unit(_convert, 6), **compared}


def _negate(steps: _Steps, operator: Operator, operands: Sequence[Value], words: Sequence[Word]) -> Value:
    return Cat(operands[0][:-1], ~operands[0][-1])


def _absolute(steps: _Steps, operator: Operator, operands: Sequence[Value], words: Sequence[Word]) -> Value:
    return Cat(operands[0][:-1], C(0, 1))


def _comparison(name: str) -> _Build:
    def build(steps: _Steps, operator: Operator, operands: Sequence[Value], words: Sequence[Word]) -> Value:
        form = _format(words[0])
        a, b = (form.unpack(operand) for operand in operands)
        left, right = (steps.wire(Mux(n.sign, -n.magnitude, n.magnitude)) for n in (a, b))
        ordered = ~(a.nan | b.nan)
        return {"eq": ordered & (left == right), "ne": ~ordered | (left != right), "lt": ordered & (left < right),
                "le": ordered & (left <= right), "gt": ordered & (left > right), "ge": ordered & (left >= right)}[name]

    return build


def _subtract(steps: _Steps, operator: Operator, operands: Sequence[Value], words: Sequence[Word]) -> Value:
    """A sum with the other sign; what is no number stays so."""
    return _add(steps, operator, [operands[0], _negate(steps, operator, operands[1:], words)], words)


def _add(steps: _Steps, operator: Operator, operands: Sequence[Value], words: Sequence[Word]) -> Value:
    form = _format(operator.word)
    a, b = (form.unpack(steps.wire(operand)) for operand in operands)
    nan = a.nan | b.nan | (a.infinite & b.infinite & (a.sign ^ b.sign))
    swap, left, right, nan, infinite = steps.cut(b.magnitude > a.magnitude, *operands, nan, a.infinite | b.infinite)
    a, b = form.unpack(left), form.unpack(right)
    sign, other = Mux(swap, b.sign, a.sign), Mux(swap, a.sign, b.sign)
    exponent = Mux(swap, b.exponent, a.exponent)
    large = Cat(C(0, 3), Mux(swap, b.significand, a.significand))
    small = Cat(C(0, 3), Mux(swap, a.significand, b.significand))
    distance = Mux(swap, b.exponent - a.exponent, a.exponent - b.exponent)[: form.exponent]
    sign, other, exponent, large, small, distance, nan, infinite = steps.cut(
        sign, other, exponent, large, small, distance, nan, infinite)
    small = steps.sticky(small, distance, len(large) - 1)
    for _ in range(2):
        sign, other, exponent, large, small, nan, infinite = steps.cut(sign, other, exponent, large, small, nan,
                                                                       infinite)
    total = Mux(sign ^ other, large - small, large + small)[: len(large) + 1]
    for _ in range(2):
        sign, other, exponent, total, nan, infinite = steps.cut(sign, other, exponent, total, nan, infinite)
    zeros, room = steps.leading_zeros(total[:-1]), exponent - 1
    shift = steps.wire(Mux(zeros > room, room, zeros)[: form.exponent])
    for _ in range(2):
        sign, other, exponent, total, shift, nan, infinite = steps.cut(sign, other, exponent, total, shift, nan,
                                                                       infinite)
    width = len(large)
    left_by = (total[:-1] << shift[: width.bit_length()])[:width]
    normal = Mux(total[-1], Cat(total[0] | total[1], total[2:]), left_by)[:width]
    exponent = Mux(total[-1], exponent + 1, exponent - shift)[: form.exponent + 1]
    some = total.any()
    for _ in range(2):
        sign, other, exponent, normal, some, nan, infinite = steps.cut(sign, other, exponent, normal, some, nan,
                                                                       infinite)
    up = normal[2] & (normal[0] | normal[1] | normal[3])
    packed = form.pack(sign, exponent, normal[3:], up)
    packed, sign, other, some, nan, infinite = steps.cut(packed, sign, other, some, nan, infinite)
    zero = Cat(C(0, form.exponent + form.fraction), sign & other)
    return form.special(nan, infinite, sign, Mux(some, packed, zero))


def _normalised(steps: _Steps, form: _Format, number: _Number) -> tuple[Value, Value]:
    """Significand with its highest bit set, and the exponent (signed) that goes with it."""
    lead = steps.leading_zeros(number.significand)
    significand = (number.significand << lead)[: form.fraction + 1]
    return significand, steps.wire(number.exponent - lead, signed(form.exponent + 3))


def _multiply(steps: _Steps, operator: Operator, operands: Sequence[Value], words: Sequence[Word]) -> Value:
    form = _format(operator.word)
    a, b = (form.unpack(steps.wire(operand)) for operand in operands)
    width = form.fraction + 1
    zero = ~(a.significand.any() & b.significand.any())
    infinite = a.infinite | b.infinite
    nan = a.nan | b.nan | (infinite & zero)
    (one, first), (two, second) = (_normalised(steps, form, number) for number in (a, b))
    one, two, first, second, sign, infinite, nan, zero = steps.cut(one, two, first, second, a.sign ^ b.sign, infinite,
                                                                   nan, zero)
    raw = steps.wire(first + second - form.bias, signed(form.exponent + 4))
    one, two, raw, sign, infinite, nan, zero = steps.cut(one, two, raw, sign, infinite, nan, zero)
    product = (one * two)[: 2 * width]
    for _ in range(3):
        product, raw, sign, infinite, nan, zero = steps.cut(product, raw, sign, infinite, nan, zero)
    top = product[-1]
    exponent = steps.wire(raw + top, signed(form.exponent + 4))
    aligned = Mux(top, product, product << 1)[: 2 * width]
    aligned, exponent, sign, infinite, nan, zero = steps.cut(aligned, exponent, sign, infinite, nan, zero)
    return steps.round(form, _Exact(sign, exponent, aligned, infinite, nan, zero))


def _division_places(word: Word) -> int:
    """Before the first bit, after each, and two for rounding."""
    return _format(word).fraction + 7


def _divide(steps: _Steps, operator: Operator, operands: Sequence[Value], words: Sequence[Word]) -> Value:
    """Restoring division of the significands, one bit per step, two more than the significand has."""
    form = _format(operator.word)
    a, b = (form.unpack(steps.wire(operand)) for operand in operands)
    width = form.fraction + 1
    nothing, by_nothing = ~a.significand.any(), ~b.significand.any()
    nan = a.nan | b.nan | (a.infinite & b.infinite) | (nothing & by_nothing)
    (rest, first), (divisor, second) = (_normalised(steps, form, number) for number in (a, b))
    facts = [a.sign ^ b.sign, a.infinite | by_nothing, nan, nothing | b.infinite]
    rest, divisor, first, second, *facts = steps.cut(rest, divisor, first, second, *facts)
    raw: Value = steps.wire(first - second + form.bias, signed(form.exponent + 4))
    quotient: Value = C(0, 0)
    for _ in range(width + 3):
        difference = steps.wire((rest - divisor).as_signed())
        fits = ~difference[-1]
        quotient = steps.wire(Cat(fits, quotient))
        rest = steps.wire((Mux(fits, difference[: width + 1], rest) << 1)[: width + 1])
        rest, divisor, quotient, raw, *facts = steps.cut(rest, divisor, quotient, raw, *facts)
    sign, infinite, nan, zero = facts
    aligned = Cat(rest.any(), Mux(quotient[-1], quotient, quotient << 1)[: width + 3])
    exponent = steps.wire(raw - ~quotient[-1], signed(form.exponent + 4))
    return steps.round(form, _Exact(sign, exponent, aligned, infinite & ~nan, nan, zero & ~infinite))


def _convert(steps: _Steps, operator: Operator, operands: Sequence[Value], words: Sequence[Word]) -> Value:
    """Between formats, and from and to integers."""
    if not operator.word.exponent:
        return _to_integer(steps, operator.word, operands[0], words[0])
    build = _from_float if words[0].exponent else _from_integer
    return build(steps, _format(operator.word), operands[0], words[0])


def _from_integer(steps: _Steps, form: _Format, operand: Value, word: Word) -> Value:
    sign = operand[-1] if word.signed else C(0, 1)
    size = steps.wire(Mux(sign, -operand, operand)[: word.width].as_unsigned())
    size, sign = steps.cut(size, sign)
    lead = steps.leading_zeros(size)
    size, lead, sign = steps.cut(size, lead, sign)
    significand = Cat(C(0, max(0, form.fraction + 3 - word.width)), (size << lead)[: word.width])
    exponent = steps.wire(form.bias + word.width - 1 - lead, signed(max(form.exponent, word.width.bit_length()) + 3))
    significand, exponent, sign = steps.cut(significand, exponent, sign)
    return steps.round(form, _Exact(sign, exponent, significand, C(0, 1), C(0, 1), ~significand.any()))


def _from_float(steps: _Steps, form: _Format, operand: Value, word: Word) -> Value:
    source = _format(word)
    number = source.unpack(steps.wire(operand))
    significand, own = _normalised(steps, source, number)
    significand, own, sign, infinite, nan, zero = steps.cut(significand, own, number.sign, number.infinite, number.nan,
                                                            ~number.significand.any())
    bits = max(form.exponent, source.exponent) + 4
    exponent = steps.wire(own + (form.bias - source.bias), signed(bits))
    wide = Cat(C(0, max(0, form.fraction + 3 - len(significand))), significand)
    return steps.round(form, _Exact(sign, exponent, wide, infinite, nan, zero))


def _to_integer(steps: _Steps, word: Word, operand: Value, source: Word) -> Value:
    form = _format(source)
    number = form.unpack(steps.wire(operand))
    through = 32 if word.width < 32 or (word.width == 32 and word.signed) else 64
    amount = steps.wire(number.exponent - form.bias, signed(form.exponent + 2))
    small, large = amount < 0, (amount >= through - 1) | number.infinite | number.nan
    significand, amount, sign, small, large, endless, nan = steps.cut(
        number.significand, amount, number.sign, small, large, number.infinite, number.nan)
    shifted = (significand << amount[: through.bit_length() - 1].as_unsigned()) >> form.fraction
    size = Mux(small, 0, shifted)[:through]
    size, amount, sign, large, endless, nan = steps.cut(size, amount, sign, large, endless, nan)
    if word.width == 64 and not word.signed:
        positive = ~sign & ~nan & large
        fits = positive & (amount == through - 1)
        outside = Mux(positive, Mux(fits, size, 0), 1 << through - 1)
    else:
        outside = C(1 << through - 1, through)
    return Mux(large, outside, Mux(sign, -size, size))[: word.width]
