"""Counters of a loop's dimensions."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.window.spec import WORD

__all__ = ["LoopCounters"]


class LoopCounters(wiring.Component):
    """In each of `rank` dimensions, the last one fastest, `values` of 32 bits from `lows` on in `steps`.

    `start` sets them to those of the first iteration, `step` to those of the next.
    """

    def __init__(self, rank: int, count_bits: int):
        self.rank, self.count_bits = rank, count_bits
        super().__init__({
            "start": In(1), "step": In(1), "counts": In(count_bits).array(rank), "lows": In(WORD).array(rank),
            "steps": In(WORD).array(rank), "values": Out(WORD).array(rank)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inner: Value = Const(1)
        for d in reversed(range(self.rank)):
            rest = Signal(self.count_bits, name=f"rest{d}")
            with m.If(self.step & inner):
                m.d.sync += [rest.eq(Mux(rest == 1, self.counts[d], rest - 1)),
                             self.values[d].eq(Mux(rest == 1, self.lows[d], self.values[d] + self.steps[d]))]
            with m.If(self.start):
                m.d.sync += [rest.eq(self.counts[d]), self.values[d].eq(self.lows[d])]
            inner = inner & (rest == 1)
        return m
