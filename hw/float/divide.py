"""Quotients and square roots, one bit per step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from amaranth.hdl import C, Cat, Mux, Value

from hw.float.parts import Exact, Number, exponent_shape, round_exact, unpack
from hw.float.spec import FloatSpec
from hw.lib.steps import Steps

__all__ = ["divide", "square_root"]


def divide(steps: Steps, spec: FloatSpec, operands: Sequence[Value]) -> Value:
    """Restoring division of the significands, two bits more than the significand has and one to be normal."""
    form = spec.number
    a, b = (unpack(form, steps.wire(operand), subnormals=spec.subnormals) for operand in operands)
    width = form.mantissa + 1
    nothing, by_nothing = ~a.significand.any(), ~b.significand.any()
    nan = a.nan | b.nan | (a.infinite & b.infinite) | (nothing & by_nothing)
    facts = [a.sign ^ b.sign, a.infinite | by_nothing, nan, nothing | b.infinite]
    ((rest, first), (divisor, second)), facts = _normalised(steps, spec, (a, b), facts)
    raw: Value = steps.wire(first - second + form.bias, exponent_shape(form, 1))
    quotient: Value = C(0, 0)
    for _ in range(width + 3):
        difference = steps.wire((rest - divisor).as_signed())
        fits = ~difference[-1]
        quotient = steps.wire(Cat(fits, quotient))
        rest = steps.wire((Mux(fits, difference[: width + 1], rest) << 1)[: width + 1])
        steps.takes("lt", width)
        steps.takes("select", width)
        rest, divisor, quotient, raw, *facts = steps.cut(rest, divisor, quotient, raw, *facts)
    sign, infinite, nan, zero = facts
    aligned = Cat(rest.any(), Mux(quotient[-1], quotient, quotient << 1)[: width + 3])
    exponent = steps.wire(raw - ~quotient[-1], exponent_shape(form, 1))
    return round_exact(steps, spec, Exact(sign, exponent, aligned, infinite & ~nan, nan, zero & ~infinite))


def _normalised(steps: Steps, spec: FloatSpec, numbers: Sequence[Number], facts: Sequence[Value]
                ) -> tuple[list[tuple[Value, Value]], list[Value]]:
    """Of each of `numbers`, side by side, the significand with its highest bit set and the exponent that goes with it,
    behind a place for registers, or two with subnormal numbers; `facts` are as late."""
    shape = exponent_shape(spec.number)
    significands = [number.significand for number in numbers]
    exponents: list[Value] = [number.exponent for number in numbers]
    count = len(numbers)
    if spec.subnormals:
        leads = steps.abreast([partial(steps.leading_zeros, significand) for significand in significands])
        late = steps.cut(*significands, *exponents, *leads, *facts)
        significands, exponents, leads, facts = (
            late[:count], late[count : 2 * count], late[2 * count : 3 * count], late[3 * count :])
        significands = steps.abreast([partial(steps.shifted_left, *pair)
                                      for pair in zip(significands, leads, strict=True)])
        exponents = [exponent - lead for exponent, lead in zip(exponents, leads, strict=True)]
    late = steps.cut(*significands, *(steps.wire(exponent, shape) for exponent in exponents), *facts)
    return list(zip(late[:count], late[count : 2 * count], strict=True)), late[2 * count :]


def square_root(steps: Steps, spec: FloatSpec, operands: Sequence[Value]) -> Value:
    """Restoring square root of the significand, or of twice it if its exponent is odd: a bit more than the significand
    has. The root of minus zero is minus zero."""
    form = spec.number
    number = unpack(form, steps.wire(operands[0]), subnormals=spec.subnormals)
    count = form.mantissa + 2
    zero = ~number.significand.any()
    nan = number.nan | (number.sign & ~zero)
    ((significand, exponent),), facts = _normalised(steps, spec, (number,), [number.sign, number.infinite, nan, zero])
    distance = steps.wire(exponent - form.bias, exponent_shape(form, 1))
    left: Value = Cat(C(0, 2 * count - form.mantissa - 2), Mux(distance[0], significand << 1, significand))[: 2 * count]
    power: Value = steps.wire((distance >> 1) + form.bias, exponent_shape(form, 1))
    rest: Value = C(0, count + 2)
    root: Value = C(0, 0)
    for _ in range(count):
        rest = Cat(left[-2:], rest)[: count + 2]
        difference = steps.wire((rest - Cat(C(1, 2), root)).as_signed())
        fits = ~difference[-1]
        rest = steps.wire(Mux(fits, difference[: count + 2], rest)[: count + 2])
        root, left = steps.wire(Cat(fits, root)), left[:-2]
        steps.takes("lt", len(root) + 2)
        steps.takes("select", count)
        rest, root, left, power, *facts = steps.cut(rest, root, left, power, *facts)
    sign, infinite, nan, zero = facts
    return round_exact(steps, spec, Exact(sign, power, Cat(rest.any(), root), infinite, nan, zero))
