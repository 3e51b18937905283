"""exp, log, sin and cos: range reduction, a polynomial on a segment, rounding.

The plans of `hw.float.function_tables` say which widths and constants; `compiler.ir.float_functions` computes the same
bits. Tables are read without a clock, so an operator has any latency.
"""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import C, Cat, Mux, Value, signed, unsigned

from hw.float.function_tables import Polynomial, exponential, logarithm, sine
from hw.float.parts import Exact, Number, exponent_shape, normalised, round_exact, unpack
from hw.float.product import multiplied
from hw.float.spec import Float, FloatSpec
from hw.lib.steps import Steps

__all__ = ["cosine_of", "exponential_of", "logarithm_of", "sine_of"]


def exponential_of(steps: Steps, spec: FloatSpec, operands: Sequence[Value]) -> Value:
    """e to the power of a number."""
    form = spec.number
    plan, number = exponential(form), _operand(steps, spec, operands)
    width = plan.whole + plan.fraction
    down = steps.wire(plan.whole - 1 + form.bias - number.exponent)
    steps.takes("sub", len(down))
    aligned = Cat(C(0, width - form.mantissa - 1), number.significand)
    large = down[-1]
    down, aligned, large, sign, infinite, nan = steps.cut(steps.limited(down[:-1].as_unsigned(), width), aligned, large,
                                                          number.sign, number.infinite, number.nan)
    steps.takes("shr", width)
    fixed, large, sign, infinite, nan = steps.cut((aligned >> down)[:width], large, sign, infinite, nan)
    power, large, sign, infinite, nan = _multiplied(steps, fixed, C(plan.scale, plan.digits + 1), large, sign, infinite,
                                                    nan)
    power = power[plan.digits :]
    steps.takes("sub", len(power))
    turned = steps.wire(Mux(sign, -power, power), signed(len(power) + 1))
    turned, large, sign, infinite, nan = steps.cut(turned, large, sign, infinite, nan)
    value, whole, large, sign, infinite, nan = _polynomial(steps, plan.power, turned[: plan.fraction],
                                                           turned[plan.fraction :].as_signed(), large, sign, infinite,
                                                           nan)
    one = plan.power.fraction
    kept = Mux(value[one + 1], C((2 << one) - 1, one + 1), Mux(value[one], value[: one + 1], 1 << one))[: one + 1]
    steps.takes("select", one)
    exponent = steps.wire(whole + form.bias, exponent_shape(form, 2))
    infinite, zero = (infinite | large) & ~sign & ~nan, (infinite | large) & sign
    kept, exponent, infinite, zero, nan = steps.cut(kept, exponent, infinite, zero, nan)
    return round_exact(steps, spec, Exact(C(0, 1), exponent, kept, infinite, nan, zero))


def logarithm_of(steps: Steps, spec: FloatSpec, operands: Sequence[Value]) -> Value:
    """The natural logarithm; of zero minus infinity."""
    form = spec.number
    plan, number = logarithm(form), _operand(steps, spec, operands)
    empty = ~number.significand.any()
    nan = number.nan | (number.sign & ~empty)
    significand, exponent = normalised(steps, spec, form, number)
    significand, exponent, nan, empty, infinite = steps.cut(significand, exponent, nan, empty, number.infinite)
    mantissa, high = significand[: form.mantissa], significand[form.mantissa - 1]
    count = steps.wire(exponent - form.bias + high, signed(len(exponent) + 1))
    r = steps.wire(Mux(high, 1 << form.mantissa, Cat(C(0, 1), mantissa)) - Mux(high, mantissa, 0))[: form.mantissa + 1]
    steps.takes("sub", form.mantissa + 1)
    size = steps.wire(Mux(count[-1], -count, count)[: len(count)])
    steps.takes("sub", len(count))
    size, below, r, negative, mantissa, nan, empty, infinite = steps.cut(size, count[-1], r, high, mantissa, nan, empty,
                                                                         infinite)
    twos, below, r, negative, mantissa, nan, empty, infinite = _multiplied(
        steps, size, C(plan.two, plan.two.bit_length()), below, r, negative, mantissa, nan, empty, infinite)
    quotient, twos, below, r, negative, nan, empty, infinite = _polynomial(
        steps, plan.quotient, mantissa, twos, below, r, negative, nan, empty, infinite)
    rest, twos, below, negative, nan, empty, infinite = _multiplied(
        steps, quotient[: plan.quotient.fraction + 1], r, twos, below, negative, nan, empty, infinite)
    behind = form.mantissa + 1 + plan.quotient.fraction
    twos = Cat(C(0, form.mantissa + 1), twos)
    width = max(len(twos), len(rest)) + 2
    total = steps.wire(Mux(below, -twos, twos) + Mux(negative, -rest, rest), signed(width))
    steps.takes("add", width)
    total, nan, empty, infinite = steps.cut(total, nan, empty, infinite)
    return _from_fixed(steps, spec, total, behind, nan, empty, infinite)


def _from_fixed(steps: Steps, spec: FloatSpec, total: Value, behind: int, nan: Value, empty: Value,
                infinite: Value) -> Value:
    """A signed number with so many bits `behind` the point, rounded; minus infinity if `empty`."""
    form, width = spec.number, len(total)
    sign = total[-1]
    size = steps.wire(Mux(sign, -total, total)[:width].as_unsigned())
    steps.takes("sub", width)
    size, sign, nan, empty, infinite = steps.cut(size, sign, nan, empty, infinite)
    zeros = steps.leading_zeros(size)
    size, zeros, sign, nan, empty, infinite = steps.cut(size, zeros, sign, nan, empty, infinite)
    moved = steps.shifted_left(size, zeros)
    exponent = steps.wire(width - 1 - behind + form.bias - zeros, exponent_shape(form, 2))
    nothing = ~moved.any()
    moved, exponent, sign, nothing, nan, infinite = steps.cut(
        _with_sticky(moved, form), exponent, (sign & ~nothing & ~infinite) | empty, nothing & ~empty & ~infinite, nan,
        (infinite | empty) & ~nan)
    return round_exact(steps, spec, Exact(sign, exponent, moved, infinite, nan, nothing))


def _with_sticky(value: Value, form: Float) -> Value:
    """The upper bits of a normalised value, as many as rounding needs, the last one for all below."""
    spare = len(value) - form.mantissa - 4
    return Cat(value[:spare].any(), value[spare:]) if spare > 0 else value


def sine_of(steps: Steps, spec: FloatSpec, operands: Sequence[Value]) -> Value:
    """The sine of a number, in radians."""
    return _sine(steps, spec, operands, cosine=False)


def cosine_of(steps: Steps, spec: FloatSpec, operands: Sequence[Value]) -> Value:
    """The cosine of a number, in radians."""
    return _sine(steps, spec, operands, cosine=True)


def _sine(steps: Steps, spec: FloatSpec, operands: Sequence[Value], *, cosine: bool) -> Value:
    form = spec.number
    plan, number = sine(form), _operand(steps, spec, operands)
    zero = C(0, 1) if cosine else ~number.significand.any()
    place = steps.wire(number.exponent - (form.bias - 1), signed(form.exponent + 1))
    steps.takes("sub", form.exponent)
    wide = plan.fraction + form.mantissa + 3
    window = steps.table(plan.windows, Mux(place[-1], 0, place)[: form.exponent].as_unsigned(), unsigned(wide))
    late = steps.wire(Mux(place[-1], -place, 0)[: form.exponent].as_unsigned())
    facts = [number.sign & C(not cosine, 1), number.infinite | number.nan, zero]
    window, late, significand, *facts = steps.cut(window, late, number.significand, *facts)
    product, late, *facts = _multiplied(steps, window, significand, late, *facts)
    turns = product[form.mantissa + 1 : form.mantissa + 3 + plan.fraction]
    quadrant = (turns[plan.fraction :] + C(cosine, 1))[:2]
    lost = steps.limited(late, plan.fraction)
    f, late, odd, back, lost, *facts = steps.cut(turns[: plan.fraction], late, quadrant[0], quadrant[1], lost, *facts)
    steps.takes("shr", plan.fraction)
    f = steps.wire(Mux(odd, ~(f >> lost), f)[: plan.fraction])
    late = steps.wire(Mux(odd, 0, late)[: len(late)])
    f, late, back, *facts = steps.cut(f, late, back, *facts)
    lead = steps.leading_zeros(f)
    f, lead, late, back, *facts = steps.cut(f, lead, late, back, *facts)
    kept = steps.shifted_left(f, lead)[plan.fraction - plan.kept :]
    lost = steps.wire(lead + late)
    kept, lost, back, *facts = steps.cut(kept, lost, back, *facts)
    short = steps.limited(lost, plan.kept)
    kept, short, lost, back, *facts = steps.cut(kept, short, lost, back, *facts)
    steps.takes("shr", plan.kept)
    argument = steps.wire((kept >> short)[: plan.kept])
    argument, kept, lost, back, *facts = steps.cut(argument, kept, lost, back, *facts)
    ratio, kept, lost, back, *facts = _polynomial(steps, plan.ratio, argument, kept, lost, back, *facts)
    product, lost, back, *facts = _multiplied(steps, ratio[: plan.ratio.fraction + 1], kept, lost, back, *facts)
    top = product[-1]
    exponent = steps.wire(form.bias - 1 + top - lost, exponent_shape(form, 2))
    aligned = Mux(top, product, product << 1)[: len(product)]
    negative, nan, zero = facts
    aligned, exponent, sign, nan, zero = steps.cut(_with_sticky(aligned, form), exponent, back ^ negative, nan, zero)
    return round_exact(steps, spec, Exact(sign, exponent, aligned, C(0, 1), nan, zero))


def _operand(steps: Steps, spec: FloatSpec, operands: Sequence[Value]) -> Number:
    return unpack(spec.number, steps.wire(operands[0]), subnormals=spec.subnormals)


def _multiplied(steps: Steps, a: Value, b: Value, *others: Value) -> list[Value]:
    """``a * b`` of unsigned values of any widths; `others` are as late."""
    width = max(len(a), len(b))
    one, two = (Cat(value, C(0, width - len(value))) for value in (a, b))
    product, *late = multiplied(steps, one, two, *others)
    return [product[: len(a) + len(b)], *late]


def _polynomial(steps: Steps, plan: Polynomial, argument: Value, *others: Value) -> list[Value]:
    """The value of a polynomial, which is not negative; `others` are as late."""
    segment, t = argument[plan.rest :], argument[: plan.rest]
    columns = [steps.table([row[k] for row in plan.rows], segment, signed(plan.widths[k]))
               for k in range(len(plan.widths))]
    late = steps.cut(t, *columns, *others)
    t, columns, others = late[0], late[1 : len(columns) + 1], tuple(late[len(columns) + 1 :])
    value = columns.pop()
    for k in reversed(range(len(columns))):
        bits = plan.factors[k]
        factor, coefficient = t[plan.rest - bits :], columns.pop()
        product, negative, above, coefficient, t, *late = _multiplied(
            steps, value.as_unsigned(), factor, value[-1], factor, coefficient, t, *columns, *others)
        columns, others = late[:k], tuple(late[k:])
        exact = product - Cat(C(0, len(value)), above & negative.replicate(bits))
        steps.takes("sub", len(product))
        value = steps.wire(coefficient + (exact >> bits), signed(plan.widths[k]))
        steps.takes("add", plan.widths[k])
        value, t, *late = steps.cut(value, t, *columns, *others)
        columns, others = late[:k], tuple(late[k:])
    return [value, *others]
