"""Conversions between formats, and from and to integers."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import C, Cat, Mux, Value, signed, unsigned

from hw.float.parts import Exact, normalised, round_exact, unpack
from hw.float.spec import Float, FloatSpec, Integer
from hw.lib.steps import Steps

__all__ = ["convert"]


def convert(steps: Steps, spec: FloatSpec, operands: Sequence[Value]) -> Value:
    """``spec.form`` to ``spec.to``. To integers towards zero: what does not fit becomes the most negative number of 32
    or, for results that need them, 64 bits, cut to the result's width."""
    source, to = spec.form, spec.to
    if isinstance(source, Integer):
        return _from_integer(steps, spec, operands[0], source)
    assert isinstance(source, Float)
    if isinstance(to, Integer):
        return _to_integer(steps, spec, source, to, operands[0])
    return _from_float(steps, spec, source, operands[0])


def _from_integer(steps: Steps, spec: FloatSpec, operand: Value, source: Integer) -> Value:
    form = spec.number
    sign = operand[-1] if source.signed else C(0, 1)
    size = steps.wire(Mux(sign, -operand, operand)[: source.width].as_unsigned(), unsigned(source.width))
    steps.takes("add", source.width)
    size, sign = steps.cut(size, sign)
    lead = steps.leading_zeros(size)
    size, lead, sign = steps.cut(size, lead, sign)
    significand = Cat(C(0, max(0, form.mantissa + 3 - source.width)), steps.shifted_left(size, lead))
    exponent = steps.wire(form.bias + source.width - 1 - lead,
                          signed(max(form.exponent, source.width.bit_length()) + 3))
    significand, exponent, sign = steps.cut(significand, exponent, sign)
    return round_exact(steps, spec, Exact(sign, exponent, significand, C(0, 1), C(0, 1), ~significand.any()))


def _from_float(steps: Steps, spec: FloatSpec, source: Float, operand: Value) -> Value:
    form = spec.number
    number = unpack(source, steps.wire(operand), subnormals=spec.subnormals)
    significand, own = normalised(steps, spec, source, number)
    significand, own, sign, infinite, nan, zero = steps.cut(significand, own, number.sign, number.infinite, number.nan,
                                                            ~number.significand.any())
    exponent = steps.wire(own + (form.bias - source.bias),
                          signed(max(len(own), form.exponent + 3) + 1))
    wide = Cat(C(0, max(0, form.mantissa + 3 - len(significand))), significand)
    return round_exact(steps, spec, Exact(sign, exponent, wide, infinite, nan, zero))


def _to_integer(steps: Steps, spec: FloatSpec, form: Float, to: Integer, operand: Value) -> Value:
    number = unpack(form, steps.wire(operand), subnormals=spec.subnormals)
    through = 32 if to.width < 32 or (to.width == 32 and to.signed) else 64
    amount = steps.wire(number.exponent - form.bias, signed(form.exponent + 2))
    small, large = amount < 0, (amount >= through - 1) | number.infinite | number.nan
    significand, amount, sign, small, large, nan = steps.cut(number.significand, amount, number.sign, small, large,
                                                             number.nan)
    steps.takes("shr", through)
    size = Mux(small, 0, _whole(significand, amount, form, through))[:through]
    size, amount, sign, large, nan = steps.cut(size, amount, sign, large, nan)
    if to.width == 64 and not to.signed:
        positive = ~sign & ~nan & large
        fits = positive & (amount == through - 1)
        outside = Mux(positive, Mux(fits, size, 0), 1 << through - 1)
    else:
        outside = C(1 << through - 1, through)
    steps.takes("add", through)
    return Mux(large, outside, Mux(sign, -size, size))[: to.width]


def _whole(significand: Value, amount: Value, form: Float, through: int) -> Value:
    """The digits before the point, of `through` bits; `amount` is not negative."""
    distance = amount[: min(len(amount) - 1, (through - 1).bit_length())].as_unsigned()
    return (significand << distance) >> form.mantissa
