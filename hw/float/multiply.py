"""Products, and products with a sum behind them that are rounded once."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import C, Cat, Mux, Shape, Value, signed

from hw.float.add import normalise_sum, round_sum, summed
from hw.float.parts import Exact, exponent_shape, round_exact, unpack, zero_of_sum
from hw.float.product import multiplied
from hw.float.spec import FloatSpec
from hw.lib.steps import Steps

__all__ = ["multiply", "multiply_add"]

_GAP = 3
"""Zeros between the summand's last bit and the product's first."""

_GUARD = 3
"""Bits below the product. A product of p bits or more, less something that was shifted out, keeps its p bits, one for
half of the last of them and one for what there is below."""


def multiply(steps: Steps, spec: FloatSpec, operands: Sequence[Value]) -> Value:
    """A subnormal operand is normalised before they are multiplied. If both are subnormal, the product is at most a
    subnormal number, whose exponent needs no normalised significand."""
    form = spec.number
    a, b = (unpack(form, steps.wire(operand), subnormals=spec.subnormals) for operand in operands)
    width = form.mantissa + 1
    zero = ~(a.significand.any() & b.significand.any())
    infinite = a.infinite | b.infinite
    nan = a.nan | b.nan | (infinite & zero)
    raw = steps.wire(a.exponent + b.exponent - form.bias, exponent_shape(form))
    steps.takes("add", form.exponent + 1)
    one, two, raw, sign, infinite, nan, zero = steps.cut(a.significand, b.significand, raw, a.sign ^ b.sign, infinite,
                                                         nan, zero)
    if spec.subnormals:
        one, two, raw, sign, infinite, nan, zero = _one_normalised(steps, one, two, raw, sign, infinite, nan, zero)
    product, raw, sign, infinite, nan, zero = multiplied(steps, one, two, raw, sign, infinite, nan, zero)
    top = product[-1]
    exponent = steps.wire(raw + top, signed(len(raw) + 1))
    aligned = Mux(top, product, product << 1)[: 2 * width]
    # What is below the last bit and its half only tells whether there is something.
    kept = Cat(aligned[: width - 1].any(), aligned[width - 1 :])
    steps.takes("add", len(exponent))
    kept, exponent, sign, infinite, nan, zero = steps.cut(kept, exponent, sign, infinite, nan, zero)
    return round_exact(steps, spec, Exact(sign, exponent, kept, infinite, nan, zero))


def _one_normalised(steps: Steps, one: Value, two: Value, raw: Value, *others: Value) -> list[Value]:
    """The significands, the first one or else the second one with its highest bit set, and the exponent of their
    product; `others` are as late as these."""
    lesser, greater = Mux(one[-1], two, one), Mux(one[-1], one, two)
    steps.takes("select", len(one))
    lesser, greater = steps.wire(lesser), steps.wire(greater)
    zeros = steps.leading_zeros(lesser)
    lesser, greater, zeros, raw, *late = steps.cut(lesser, greater, zeros, raw, *others)
    moved = steps.shifted_left(lesser, zeros)
    exponent = steps.wire(raw - zeros, signed(len(raw) + 1))
    return steps.cut(moved, greater, exponent, *late)


def multiply_add(steps: Steps, spec: FloatSpec, operands: Sequence[Value]) -> Value:
    """``a * b + c`` with one rounding.

    In a frame of three significands and some bits, the product lies at the bottom and the summand at the top, with
    zeros between them. Where the summand is smaller it moves down; where it is much larger the product only stands for
    something that is not nothing, wherever it lies.
    """
    form = spec.number
    a, b, c = (unpack(form, steps.wire(operand), subnormals=spec.subnormals) for operand in operands)
    width, size = form.mantissa + 1, 3 * (form.mantissa + 1) + _GAP + _GUARD
    nothing = ~(a.significand.any() & b.significand.any())
    negative, endless = a.sign ^ b.sign, a.infinite | b.infinite
    nan = a.nan | b.nan | c.nan | (endless & nothing) | (endless & c.infinite & (negative ^ c.sign))
    infinite, common = endless | c.infinite, Mux(c.infinite, c.sign, negative)
    negative, other = Mux(infinite, common, negative), Mux(infinite, common, c.sign)
    # The exponent of the frame's highest bit, with the product in its place.
    above = 1 + width + _GAP - form.bias
    frame = steps.wire(a.exponent + b.exponent + above, Shape.cast(range(above - 1, above + (2 << form.exponent))))
    lower = steps.wire(frame - c.exponent)
    product, frame, lower, top, exponent, other, negative, nan, infinite, nothing = multiplied(
        steps, a.significand, b.significand, frame, lower, c.significand, c.exponent, other, negative, nan, infinite,
        nothing)
    alone = (lower < 0) | nothing
    down = Mux(alone, 0, lower)[: len(lower) - 1].as_unsigned()
    exponent = Mux(alone, exponent, frame)[: max(len(frame), form.exponent + 1)].as_unsigned()
    steps.takes("select", len(exponent))
    down = steps.limited(down, size - 1)
    product, down, top, exponent, other, negative, nan, infinite = steps.cut(product, down, top, exponent, other,
                                                                             negative, nan, infinite)
    moved = steps.sticky(Cat(C(0, size - width), top), down)
    product, moved, exponent, other, negative, nan, infinite = steps.cut(product, moved, exponent, other, negative, nan,
                                                                         infinite)
    placed = Cat(C(0, _GUARD), product, C(0, width + _GAP))
    larger = steps.wire(placed > moved)
    steps.takes("lt", size)
    steps.takes("select", size)
    first, second, sign, other, exponent, nan, infinite = steps.cut(
        Mux(larger, placed, moved), Mux(larger, moved, placed), Mux(larger, negative, other),
        Mux(larger, other, negative), exponent, nan, infinite)
    total = summed(steps, first, second, sign ^ other)
    total, sign, other, exponent, nan, infinite = steps.cut(total, sign, other, exponent, nan, infinite)
    exact = Exact(sign, exponent, total, infinite, nan, zero_of_sum(spec.rounding, sign, other))
    return round_sum(steps, spec, normalise_sum(steps, exact))
