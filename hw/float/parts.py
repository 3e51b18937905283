"""Words taken apart, and results rounded and put together."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import C, Cat, Mux, Shape, Value, signed

from hw.float.spec import Float, FloatSpec, Rounding
from hw.lib.steps import Steps

__all__ = ["Exact", "Number", "exponent_shape", "normalised", "pack", "round_exact", "round_up", "special", "unpack",
           "zero_of_sum"]


@dataclass(frozen=True)
class Number:
    """An operand: `exponent` is at least 1, `significand` has the hidden bit on top."""

    sign: Value
    exponent: Value
    significand: Value
    magnitude: Value
    infinite: Value
    nan: Value


@dataclass(frozen=True)
class Exact:
    """A result before it is rounded: the significand's highest bit is the hidden one (unless `zero`), its lowest stands
    for all that is lost; `exponent` (signed) is that of the format, and may be out of its range."""

    sign: Value
    exponent: Value
    significand: Value
    infinite: Value
    nan: Value
    zero: Value


def unpack(form: Float, bits: Value, *, subnormals: bool = True) -> Number:
    """The parts of a word; without `subnormals` zero in place of one."""
    bits = bits.as_unsigned()
    fraction, exponent = bits[: form.mantissa], bits[form.mantissa : -1]
    normal, top = exponent.any(), exponent.all()
    kept, magnitude = fraction, bits[:-1]
    if not subnormals:
        kept = fraction & normal.replicate(form.mantissa)
        magnitude = magnitude & normal.replicate(form.width - 1)
    return Number(bits[-1], Cat(exponent[0] | ~normal, exponent[1:]), Cat(kept, normal), magnitude,
                  top & ~fraction.any(), top & fraction.any())


def exponent_shape(form: Float, more: int = 0) -> Shape:
    """Signed, for the exponent of a normalised number, which mantissas with many zeros make smaller than any of the
    format's; with `more` bits."""
    return signed(max(form.exponent, form.mantissa.bit_length()) + 3 + more)


def round_up(rounding: Rounding, sign: Value, last: Value, half: Value, rest: Value) -> Value:
    """Whether a magnitude goes up to its next neighbour: `last` is the last bit that is kept, `half` the first one that
    is not, `rest` whether there is more below."""
    match rounding:
        case Rounding.NEAREST_EVEN:
            return half & (rest | last)
        case Rounding.NEAREST_AWAY:
            return half
        case Rounding.UP:
            return ~sign & (half | rest)
        case Rounding.DOWN:
            return sign & (half | rest)
    return C(0, 1)


def zero_of_sum(rounding: Rounding, sign: Value, other: Value) -> Value:
    """The sign of a sum of opposite numbers, or of zeros, with these signs."""
    return sign | other if rounding is Rounding.DOWN else sign & other


def pack(form: Float, exponent: Value, kept: Value, up: Value) -> tuple[Value, Value]:
    """The rounded magnitude, and whether it is too large: `kept` has the hidden bit, without which `exponent` is 1."""
    width = form.exponent + 1
    field = exponent[:width] & kept[-1].replicate(width)
    magnitude = (Cat(kept[: form.mantissa], field) + up)[: form.mantissa + width]
    top = magnitude[form.mantissa :]
    return magnitude[: form.width - 1], top[-1] | top[:-1].all()


def special(spec: FloatSpec, form: Float, nan: Value, infinite: Value, large: Value, sign: Value,
            finite: Value) -> Value:
    """The word, given what it is; `large`: a finite number beyond the format, `finite`: a magnitude."""
    infinity, width = form.infinity, form.width - 1
    beyond: Value = C(infinity, width)
    match spec.rounding:
        case Rounding.ZERO:
            beyond = C(infinity - 1, width)
        case Rounding.UP:
            beyond = _towards(form, ~sign)
        case Rounding.DOWN:
            beyond = _towards(form, sign)
    found = Mux(infinite, infinity, Mux(large, beyond, finite))[:width]
    return Mux(nan, form.nan, Cat(found, sign))[: form.width]


def _towards(form: Float, infinite: Value) -> Value:
    """Infinity, or the largest number."""
    return Mux(infinite, form.infinity, form.infinity - 1)[: form.width - 1]


def normalised(steps: Steps, spec: FloatSpec, form: Float, number: Number) -> tuple[Value, Value]:
    """Significand with its highest bit set, and the exponent (signed) that goes with it."""
    shape = exponent_shape(form)
    if not spec.subnormals:
        return number.significand, steps.wire(number.exponent, shape)
    lead = steps.leading_zeros(number.significand)
    return steps.shifted_left(number.significand, lead), steps.wire(number.exponent - lead, shape)


def round_exact(steps: Steps, spec: FloatSpec, exact: Exact) -> Value:
    """The word of format ``spec.number`` for `exact`, behind two places for registers, or three with subnormal numbers.
    The significand has at least two bits more than the format."""
    form = spec.number
    width, extra = len(exact.significand), len(exact.significand) - form.mantissa - 1
    gap = steps.wire(1 - exact.exponent, signed(len(exact.exponent) + 1))
    normal = gap[-1]
    least = Mux(normal, exact.exponent, C(1, signed(2)))[: len(exact.exponent)]
    steps.takes("add", len(gap))
    steps.takes("select", len(gap))
    shifted, zero, sign, infinite, nan = exact.significand, exact.zero, exact.sign, exact.infinite, exact.nan
    if spec.subnormals:
        below = steps.limited(Mux(normal, 0, gap[:-1])[: len(gap) - 1], width - 1)
        shifted, below, least, sign, infinite, nan, zero = steps.cut(shifted, below, least, sign, infinite, nan, zero)
        shifted = steps.sticky(shifted, below)
    else:
        zero = zero | (~normal & gap.any())
    shifted, least, sign, infinite, nan, zero = steps.cut(shifted, least, sign, infinite, nan, zero)
    rest = shifted[: extra - 1].any() if extra > 1 else C(0, 1)
    up = round_up(spec.rounding, sign, shifted[extra], shifted[extra - 1], rest)
    beyond = least >= (1 << form.exponent) - 1
    packed, large = pack(form, least[: form.exponent + 1], shifted[extra:], up)
    steps.takes("add", form.width)
    packed, large, sign, infinite, nan, zero = steps.cut(packed, large | beyond, sign, infinite, nan, zero)
    finite = Mux(zero, 0, packed)[: form.width - 1]
    steps.takes("select", form.width)
    return special(spec, form, nan, infinite & ~zero, large & ~zero, sign, finite)
