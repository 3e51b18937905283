"""The operations by name, inline and as a component, and how many cycles they take at a clock rate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from amaranth.hdl import Module, Shape, Signal, Value

from hw.delays import operator_delays
from hw.integer.divide import quotient, remainder, square_root
from hw.lib.placement import least_registers, place_registers
from hw.lib.steps import Delayed, SteppedOperator, Steps

__all__ = ["INTEGER_OPERATIONS", "IntegerOperator", "build_integer", "integer_delays", "integer_latency"]

_BUILDS: Mapping[str, Callable[[Steps, Sequence[Value]], Value]] = {
    "div": quotient, "rem": remainder, "sqrt": square_root,
}
_NAME = "step"

INTEGER_OPERATIONS: tuple[str, ...] = tuple(_BUILDS)
"""The operations there are, with their names and results in `hw.ops`."""


def build_integer(m: Module, delayed: Delayed, op: str, operands: Sequence[Value], latency: int) -> Value:
    """The result of operation `op` in `m`, `latency` of `delayed`'s cycles after its operands, which have signs by
    their shapes."""
    shapes = tuple(operand.shape() for operand in operands)
    steps = Steps(m, delayed, place_registers(integer_delays(op, shapes), latency), _NAME)
    return steps.finish(_BUILDS[op](steps, [steps.wire(operand) for operand in operands]))


@cache
def integer_delays(op: str, shapes: tuple[Shape, ...]) -> tuple[float, ...]:
    """Nanoseconds of the steps for operands of these shapes, between any two of which registers can be."""
    steps = Steps(None, lambda value, cycles: value)
    _BUILDS[op](steps, [Signal(shape) for shape in shapes])
    return tuple(steps.delays)


def integer_latency(op: str, shapes: Sequence[Shape], clock_mhz: int) -> int:
    """The fewest cycles with which each step, or some of them, fit into a period of this clock rate."""
    return least_registers(integer_delays(op, tuple(shapes)), operator_delays().room(clock_mhz))


class IntegerOperator(SteppedOperator):
    """One operation. ``a`` and ``b``, as many as it takes, of these shapes, and the result ``o``, of shape `result`,
    `latency` cycles with `en` later."""

    def __init__(self, op: str, shapes: Sequence[Shape], result: Shape, latency: int):
        self._op, self._latency = op, latency
        super().__init__(dict(zip("ab", shapes, strict=False)), result, _NAME)

    def build(self, m: Module, delayed: Delayed, operands: Sequence[Value]) -> Value:
        """See `SteppedOperator`."""
        return build_integer(m, delayed, self._op, operands, self._latency)
