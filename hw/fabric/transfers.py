"""The memory side of the banks: packed streams to and from the lines of a half."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.dma.spec import DmaSpec

__all__ = ["DrainPath", "FillPath"]


class FillPath(wiring.Component):
    """Writes a packed stream to the lines of a half, one per cycle, from line 0 on after `start`.

    Ports: `word` (stream of `DmaSpec.word`), always taken; `write`, `line`, `data` to the bank one cycle later.
    `overflow`: the word of this cycle is beyond the half and gets lost.
    """

    def __init__(self, spec: DmaSpec, line_bits: int):
        super().__init__({
            "start": In(1),
            "word": In(stream.Signature(spec.word)),
            "write": Out(1),
            "line": Out(line_bits),
            "data": Out(spec.data_width),
            "overflow": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = Signal(len(self.line) + 1)
        m.d.comb += [
            self.word.ready.eq(1),
            self.overflow.eq(self.word.valid & count[-1]),
        ]
        m.d.sync += [
            self.write.eq(self.word.valid & ~count[-1]),
            self.line.eq(count),
            self.data.eq(self.word.p.data),
        ]
        with m.If(self.start):
            m.d.sync += count.eq(0)
        with m.Elif(self.word.valid & ~count[-1]):
            m.d.sync += count.eq(count + 1)
        return m


class DrainPath(wiring.Component):
    """Reads the lines of a half as a packed stream, one per cycle, from line 0 on after `start`.

    Ports: `read` and `line` to the bank, `data` from it from the next cycle until the next `read`; `word` (stream of
    words), first one two cycles after `start`. It reads on until the next `start`, so there is always a word to
    take. `overflow`: a word beyond the half is taken in this cycle.
    """

    def __init__(self, spec: DmaSpec, line_bits: int):
        super().__init__({
            "start": In(1),
            "read": Out(1),
            "line": Out(line_bits),
            "data": In(spec.data_width),
            "word": Out(stream.Signature(spec.data_width)),
            "overflow": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count, beyond = Signal(len(self.line) + 1), Signal()
        taken = self.word.valid & self.word.ready
        m.d.comb += [
            self.read.eq(~self.start & (taken | ~self.word.valid)),
            self.line.eq(count),
            self.word.payload.eq(self.data),
            self.overflow.eq(taken & beyond),
        ]
        with m.If(self.start):
            m.d.sync += [count.eq(0), beyond.eq(0), self.word.valid.eq(0)]
        with m.Elif(self.read):
            m.d.sync += [count.eq(count + 1), beyond.eq(beyond | count[-1]), self.word.valid.eq(1)]
        return m
