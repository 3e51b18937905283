"""Sums and differences: operands ordered by size, one shift each way."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import C, Cat, Mux, Value

from hw.float.parts import Exact, pack, round_up, special, unpack, zero_of_sum
from hw.float.spec import FloatSpec
from hw.lib.steps import Steps

__all__ = ["add", "normalise_sum", "round_sum", "subtract", "summed"]


def subtract(steps: Steps, spec: FloatSpec, operands: Sequence[Value]) -> Value:
    """A sum with the other sign."""
    a, b = operands
    return add(steps, spec, (a, Cat(b[:-1], ~b[-1])))


def add(steps: Steps, spec: FloatSpec, operands: Sequence[Value]) -> Value:
    """The smaller operand is aligned to the larger one, with three bits more; the sum is never below a subnormal
    number's last bit, so that only normal results are rounded."""
    form = spec.number
    a, b = (unpack(form, steps.wire(operand), subnormals=spec.subnormals) for operand in operands)
    steps.takes("lt", form.width)
    nan = a.nan | b.nan | (a.infinite & b.infinite & (a.sign ^ b.sign))
    swap, left, right, nan, infinite = steps.cut(b.magnitude > a.magnitude, *operands, nan, a.infinite | b.infinite)
    a, b = (unpack(form, word, subnormals=spec.subnormals) for word in (left, right))
    sign, other = Mux(swap, b.sign, a.sign), Mux(swap, a.sign, b.sign)
    exponent = steps.wire(Mux(swap, b.exponent, a.exponent))
    large = Cat(C(0, 3), Mux(swap, b.significand, a.significand))
    small = Cat(C(0, 3), Mux(swap, a.significand, b.significand))
    distance = (exponent - Mux(swap, a.exponent, b.exponent))[: form.exponent]
    steps.takes("select", form.width)
    steps.takes("sub", form.exponent)
    sign, other, exponent, large, small, distance, nan, infinite = steps.cut(
        sign, other, exponent, large, small, distance, nan, infinite)
    distance = steps.limited(distance, len(large) - 1)
    sign, other, exponent, large, small, distance, nan, infinite = steps.cut(
        sign, other, exponent, large, small, distance, nan, infinite)
    small = steps.sticky(small, distance)
    sign, other, exponent, large, small, nan, infinite = steps.cut(sign, other, exponent, large, small, nan, infinite)
    total = summed(steps, large, small, sign ^ other)
    sign, other, exponent, total, nan, infinite = steps.cut(sign, other, exponent, total, nan, infinite)
    exact = Exact(sign, exponent, total, infinite, nan, zero_of_sum(spec.rounding, sign, other))
    return round_sum(steps, spec, normalise_sum(steps, exact))


def summed(steps: Steps, large: Value, small: Value, opposite: Value) -> Value:
    """``large + small``, with a bit more, or their difference, which is not negative: one chain of carries."""
    steps.takes("add", len(large) + 1)
    turned = small ^ opposite.replicate(len(small))
    total = (Cat(C(1, 1), large) + Cat(opposite, turned))[1 : len(large) + 2]
    return Cat(total[:-1], total[-1] & ~opposite)


def normalise_sum(steps: Steps, exact: Exact) -> Exact:
    """A sum with a bit above the hidden one without this bit, as far left as its exponent (at least 1) allows: two
    places for registers. `zero` becomes the sign of nothing."""
    sign, exponent, total, infinite, nan, negative = (exact.sign, exact.exponent, exact.significand, exact.infinite,
                                                      exact.nan, exact.zero)
    zeros, room = steps.leading_zeros(total[:-1]), exponent - 1
    shift = steps.wire(Mux(zeros > room, room, zeros)[: len(total).bit_length()])
    steps.takes("lt", len(exponent))
    steps.takes("select", len(shift))
    sign, negative, exponent, total, shift, nan, infinite = steps.cut(sign, negative, exponent, total, shift, nan,
                                                                      infinite)
    left = steps.shifted_left(total[:-1], shift)
    normal = Mux(total[-1], Cat(total[0] | total[1], total[2:]), left)[: len(left)]
    steps.takes("select", len(left))
    exponent = Mux(total[-1], exponent + 1, exponent - shift)[: len(exponent) + 1]
    sign = Mux(total.any(), sign, negative)
    sign, exponent, normal, nan, infinite = steps.cut(sign, exponent, normal, nan, infinite)
    return Exact(sign, exponent, normal, infinite, nan, C(0, 1))


def round_sum(steps: Steps, spec: FloatSpec, exact: Exact) -> Value:
    """The word for a sum that `normalise_sum` gave: a place for registers."""
    form, normal = spec.number, exact.significand
    extra = len(normal) - form.mantissa - 1
    up = round_up(spec.rounding, exact.sign, normal[extra], normal[extra - 1], normal[: extra - 1].any())
    beyond = exact.exponent >= (1 << form.exponent) - 1
    packed, large = pack(form, exact.exponent[: form.exponent + 1], normal[extra:], up)
    if not spec.subnormals:
        packed = packed & normal[-1].replicate(len(packed))
    steps.takes("add", form.width)
    packed, large, sign, nan, infinite = steps.cut(packed, large | (beyond & normal[-1]), exact.sign, exact.nan,
                                                   exact.infinite)
    steps.takes("select", form.width)
    return special(spec, form, nan, infinite, large, sign, packed)
