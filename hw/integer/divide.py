"""Quotients, remainders and square roots of integers, one bit per step. Results are those of `hw.ops`."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import C, Cat, Mux, Value

from hw.lib.steps import Steps

__all__ = ["quotient", "remainder", "square_root"]


def quotient(steps: Steps, operands: Sequence[Value]) -> Value:
    """Rounded towards zero; all ones by zero. One bit more than the dividend has."""
    dividend, divisor = operands
    facts = [_negative(dividend) ^ _negative(divisor), divisor.any()]
    digits, _, (minus, some) = _divided(steps, dividend, divisor, facts)
    _takes_sign(steps, len(digits))
    return Mux(some, Mux(minus, -digits, digits), -1)


def remainder(steps: Steps, operands: Sequence[Value]) -> Value:
    """With the sign of the dividend, which it is by zero. As many bits as the dividend has, and one for its sign."""
    dividend, divisor = operands
    _, rest, (minus,) = _divided(steps, dividend, divisor, [_negative(dividend)])
    _takes_sign(steps, len(rest))
    return Mux(minus, -rest, rest)


def square_root(steps: Steps, operands: Sequence[Value]) -> Value:
    """Rounded down; 0 of negative numbers. Half as many bits as the operand has, rounded up."""
    operand, = operands
    count = (len(operand) + 1) // 2
    steps.takes("select", len(operand))
    left: Value = steps.wire(Mux(_negative(operand), 0, operand)[: len(operand)])
    left = Cat(left, C(0, 2 * count - len(operand)))
    rest: Value = C(0, 0)
    root: Value = C(0, 0)
    for _ in range(count):
        rest = Cat(left[-2:], rest)
        difference = steps.wire((rest - Cat(C(1, 2), root)).as_signed())
        fits = ~difference[-1]
        root, left = steps.wire(Cat(fits, root)), left[:-2]
        rest = steps.wire(Mux(fits, difference, rest)[: len(root) + 1])
        steps.takes("lt", len(root) + 1)
        steps.takes("select", len(root))
        rest, root, left = steps.cut(rest, root, left)
    return root


def _divided(steps: Steps, dividend: Value, divisor: Value,
             facts: Sequence[Value]) -> tuple[Value, Value, Sequence[Value]]:
    """Quotient and rest of the magnitudes by restoring division, and `facts` of the cycle when they are there. By zero
    the rest is the whole dividend."""
    width = len(dividend)
    _takes_sign(steps, max(width, len(divisor)))
    left, taken = (steps.wire(_magnitude(value)) for value in (dividend, divisor))
    left, taken, *facts = steps.cut(left, taken, *facts)
    rest: Value = C(0, 0)
    digits: Value = C(0, 0)
    for _ in range(width):
        rest = Cat(left[-1], rest)
        difference = steps.wire((rest - taken).as_signed())
        fits = ~difference[-1]
        digits, left = steps.wire(Cat(fits, digits)), left[:-1]
        rest = steps.wire(Mux(fits, difference, rest)[: len(digits)])
        steps.takes("lt", max(len(rest), len(taken)))
        steps.takes("select", len(rest))
        rest, digits, left, taken, *facts = steps.cut(rest, digits, left, taken, *facts)
    return digits, rest, facts


def _takes_sign(steps: Steps, width: int) -> None:
    steps.takes("neg", width)
    steps.takes("select", width)


def _negative(value: Value) -> Value:
    return value[-1] if value.shape().signed else C(0, 1)


def _magnitude(value: Value) -> Value:
    """Without a sign, in as many bits."""
    return Mux(value[-1], -value, value)[: len(value)] if value.shape().signed else value
