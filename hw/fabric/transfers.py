"""The memory side of the banks: packed streams to and from the lines of a bank."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, ResetInserter, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hw.dma.spec import DmaSpec

__all__ = ["DRAIN_LATENCY", "DrainPath", "FillPath"]

DRAIN_LATENCY = 2
"""Cycles from a read of a line of some bank until its data are there."""

READ_AHEAD = 8
"""Words that can wait for the writer."""


class FillPath(wiring.Component):
    """Writes a packed stream to the lines of a bank, one per cycle, from line `base` on after `start`.

    Ports: `word` (stream of `DmaSpec.word`), always taken; `write`, `line`, `data` to the bank one cycle later.
    `overflow`: the word of this cycle is beyond half a bank and gets lost.
    """

    def __init__(self, spec: DmaSpec, line_bits: int):
        super().__init__({
            "start": In(1),
            "base": In(line_bits),
            "word": In(stream.Signature(spec.word)),
            "write": Out(1),
            "line": Out(line_bits),
            "data": Out(spec.data_width),
            "overflow": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = Signal(len(self.line))
        m.d.comb += [
            self.word.ready.eq(1),
            self.overflow.eq(self.word.valid & count[-1]),
        ]
        m.d.sync += [
            self.write.eq(self.word.valid & ~count[-1]),
            self.line.eq(self.base + count),
            self.data.eq(self.word.p.data),
        ]
        with m.If(self.start):
            m.d.sync += count.eq(0)
        with m.Elif(self.word.valid & ~count[-1]):
            m.d.sync += count.eq(count + 1)
        return m


class DrainPath(wiring.Component):
    """Reads the lines of a bank as a packed stream, one per cycle, from line `base` on after `start`.

    Ports: `read` and `line` to the bank, `data` from it two cycles later; `word` (stream of words), first one four
    cycles after `start`. It reads ahead, and on until the next `start`, so there is always a word to take.
    `overflow`: a word beyond half a bank is taken in this cycle.
    """

    def __init__(self, spec: DmaSpec, line_bits: int):
        self.spec = spec
        super().__init__({
            "start": In(1),
            "base": In(line_bits),
            "read": Out(1),
            "line": Out(line_bits),
            "data": In(spec.data_width),
            "word": Out(stream.Signature(spec.data_width)),
            "overflow": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ahead = SyncFIFO(width=self.spec.data_width, depth=READ_AHEAD)
        m.submodules.ahead = ResetInserter(self.start)(ahead)
        arriving, count = Signal(DRAIN_LATENCY), Signal(len(self.line))
        taken = self.word.valid & self.word.ready
        m.d.comb += [
            self.read.eq(~self.start & (ahead.level < READ_AHEAD - DRAIN_LATENCY)),
            ahead.w_en.eq(arriving[-1]),
            ahead.w_data.eq(self.data),
            self.word.payload.eq(ahead.r_data),
            self.word.valid.eq(ahead.r_rdy),
            ahead.r_en.eq(self.word.ready),
            self.overflow.eq(taken & count[-1]),
        ]
        m.d.sync += [
            arriving.eq(Cat(self.read, arriving)),
            self.line.eq(self.line + self.read),
            count.eq(count + taken),
        ]
        with m.If(self.start):
            m.d.sync += [self.line.eq(self.base), count.eq(0), arriving.eq(0)]
        return m
