"""Division of integers in a few quotient bits per cycle: one divider for a cell that divides now and then."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SerialDivider", "divider_latency"]


def divider_latency(width: int, bits: int) -> int:
    """Cycles from `start` to the result of a divider of `bits` quotient bits per cycle; also the least between two
    starts."""
    return -(-width // bits) + 1


class SerialDivider(wiring.Component):
    """Restoring division of magnitudes, rounding towards zero; by zero as in `hw.ops.DIVISIONS`.

    `start` takes `a` and `b`; `quotient` and `remainder` are there `divider_latency(width, bits)` cycles later and stay
    until as long after the next start.
    """

    def __init__(self, width: int, signed: bool, bits: int):
        self.width, self.signed, self.bits = width, signed, bits
        super().__init__({
            "start": In(1), "a": In(width), "b": In(width), "quotient": Out(width), "remainder": Out(width),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        cycles = divider_latency(self.width, self.bits) - 1
        size = cycles * self.bits
        left, rest, divisor = Signal(range(cycles + 1)), Signal(self.width + 1), Signal(self.width)
        dividend, quotient = Signal(size), Signal(size)
        minus, minus_rest, zero = Signal(), Signal(), Signal()
        value, above, collected = Value.cast(rest), Value.cast(dividend), Value.cast(quotient)
        for _ in range(self.bits):
            shifted = Cat(above[-1], value)[: self.width + 1]
            difference = shifted - divisor
            fits = ~difference[-1]
            value = Mux(fits, difference, shifted)[: self.width + 1]
            above, collected = Cat(0, above)[:size], Cat(fits, collected)[:size]
        with m.If(self.start):
            m.d.sync += [
                left.eq(cycles), rest.eq(0), dividend.eq(self._magnitude(self.a)), divisor.eq(self._magnitude(self.b)),
                minus.eq(self._negative(self.a) ^ self._negative(self.b)), minus_rest.eq(self._negative(self.a)),
                zero.eq(self.b == 0),
            ]
        with m.Elif(left != 0):
            m.d.sync += [left.eq(left - 1), rest.eq(value), dividend.eq(above), quotient.eq(collected)]
        m.d.comb += [
            self.quotient.eq(Mux(zero, -1, Mux(minus, -quotient, quotient))),
            self.remainder.eq(Mux(minus_rest, -rest, rest)),
        ]
        return m

    def _negative(self, value: Value) -> Value:
        return value[-1] if self.signed else Value.cast(0)

    def _magnitude(self, value: Value) -> Value:
        return Mux(value[-1], -value, value)[: self.width] if self.signed else value
