"""Named intermediate values of combinational functions."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value

__all__ = ["repeat", "wire"]


def wire(m: Module, name: str, value: Value) -> Signal:
    """A signal that follows `value`.

    Amaranth walks an expression once per mention. What is mentioned more than once must be a signal, or functions that
    build on each other take exponential time.
    """
    signal = Signal(len(value), name=name)
    m.d.comb += signal.eq(value)
    return signal


def repeat(m: Module, bit: Value, count: int) -> Value:
    """One bit, `count` times."""
    return wire(m, "bit", bit).replicate(count)
