"""The operators by name, inline and as a component."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from amaranth.hdl import Module, Signal, Value

from hw.float.add import add, subtract
from hw.float.compare import absolute, compared, negate, smaller_or_larger
from hw.float.convert import convert
from hw.float.divide import divide, square_root
from hw.float.functions import cosine_of, exponential_of, logarithm_of, sine_of
from hw.float.multiply import multiply, multiply_add
from hw.float.spec import FloatError, FloatSpec
from hw.lib.placement import place_registers
from hw.lib.steps import Delayed, SteppedOperator, Steps

__all__ = ["FLOAT_OPERATIONS", "FloatOperator", "build_float", "build_operator", "operand_names", "result_width",
           "step_delays"]

_Build = Callable[[Steps, FloatSpec, Sequence[Value]], Value]

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")

_BUILDS: Mapping[str, tuple[int, _Build]] = {
    "add": (2, add), "sub": (2, subtract), "mul": (2, multiply), "mad": (3, multiply_add), "div": (2, divide),
    "sqrt": (1, square_root), "neg": (1, negate), "abs": (1, absolute), "cast": (1, convert),
    "exp": (1, exponential_of), "log": (1, logarithm_of), "sin": (1, sine_of), "cos": (1, cosine_of),
    **{name: (2, compared(name)) for name in _COMPARISONS},
    **{name: (2, smaller_or_larger(name)) for name in ("min", "max")},
}

FLOAT_OPERATIONS: tuple[str, ...] = tuple(_BUILDS)
"""The operations there are, with their names in `hw.ops`."""


def _build(spec: FloatSpec) -> tuple[int, _Build]:
    if spec.op not in _BUILDS:
        raise FloatError(f"there is no operator '{spec.op}' for floating-point numbers, only {', '.join(_BUILDS)}")
    return _BUILDS[spec.op]


def build_float(m: Module, delayed: Delayed, spec: FloatSpec, operands: Sequence[Value]) -> Value:
    """The result of the operator in `m`, `spec.latency` of `delayed`'s cycles after its operands, as unsigned bits.

    Raises `FloatError` for an operation that there is not.
    """
    arity, build = _build(spec)
    assert len(operands) == arity
    steps = Steps(m, delayed, place_registers(step_delays(replace(spec, latency=0)), spec.latency))
    return steps.finish(build(steps, spec, operands))


@cache
def step_delays(spec: FloatSpec) -> tuple[float, ...]:
    """Nanoseconds of the operator's steps, between any two of which registers can be."""
    steps = Steps(None, lambda value, cycles: value)
    build_operator(steps, spec)
    return tuple(steps.delays)


def build_operator(steps: Steps, spec: FloatSpec) -> Value:
    """The result of the operator by `steps`, of operands that are nothing else's. Raises `FloatError`."""
    arity, build = _build(spec)
    return steps.finish(build(steps, spec, [Signal(spec.form.width) for _ in range(arity)]))


def operand_names(spec: FloatSpec) -> str:
    """A letter for each operand. Raises `FloatError` for an operation that there is not."""
    return "abc"[: _build(spec)[0]]


def result_width(spec: FloatSpec) -> int:
    """Bits of the result."""
    return 1 if spec.op in _COMPARISONS else (spec.to or spec.form).width


class FloatOperator(SteppedOperator):
    """One operator. ``a``, ``b``, ``c``, as many as the operation takes, and the result ``o`` ``spec.latency`` cycles
    with `en` later; a bit for comparisons."""

    def __init__(self, spec: FloatSpec):
        self.spec = spec
        super().__init__(dict.fromkeys(operand_names(spec), spec.form.width), result_width(spec), "float")

    def build(self, m: Module, delayed: Delayed, operands: Sequence[Value]) -> Value:
        """See `SteppedOperator`."""
        return build_float(m, delayed, self.spec, operands)
