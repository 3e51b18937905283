"""What stands between neighbours: register slices and small queues."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hw.dma.word_queue import BlockQueue

__all__ = ["LUT_RAM_WORDS", "Queue", "Skid", "SumQueue"]

LUT_RAM_WORDS = 64
"""Memories up to this depth are read in the same cycle, as LUT RAM is; deeper ones a cycle later, as block RAM is."""


class Skid(wiring.Component):
    """A register slice with room for two; both directions end in registers. Latency one cycle, a word per cycle.

    Ports: `i`, `o` (streams of `shape`).
    """

    def __init__(self, shape: Any):
        self._shape = shape
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Words are taken into a free slot whether they are valid or not: then no handshake has to reach their
        # registers, and who takes one only turns a pointer.
        slots = [Signal(self._shape, name=f"slot{k}", reset_less=True) for k in range(2)]
        into, out, full, valid = Signal(), Signal(), Signal(), Signal()
        come, kept = self.i.valid & ~full, valid & ~self.o.ready
        m.d.comb += [
            self.o.payload.eq(Mux(out, Value.cast(slots[1]), Value.cast(slots[0]))), self.o.valid.eq(valid),
            self.i.ready.eq(~full),
        ]
        m.d.sync += [
            into.eq(into ^ come), out.eq(out ^ (valid & self.o.ready)), full.eq(kept & (full | self.i.valid)),
            valid.eq(kept | full | self.i.valid),
        ]
        for k, slot in enumerate(slots):
            with m.If(~full & (into == k)):
                m.d.sync += Value.cast(slot).eq(Value.cast(self.i.payload))
        return m


class SumQueue(wiring.Component):
    """Two partial results between a PE and its neighbour; words come and go without asking.

    The neighbour takes a word for each step in which it follows, and it is never more than the two steps behind that
    wait in the `Skid` between them, so there is always room and always a word (`push` and `data`, `pop` and `head`).
    """

    def __init__(self, bits: int):
        self._bits = bits
        super().__init__({"push": In(1), "data": In(bits), "pop": In(1), "head": Out(bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        slots = [Signal(self._bits, name=f"slot{k}", reset_less=True) for k in range(2)]
        into, out = Signal(), Signal()
        m.d.comb += self.head.eq(Array(slots)[out])
        m.d.sync += [into.eq(into ^ self.push), out.eq(out ^ self.pop)]
        for k, slot in enumerate(slots):
            with m.If(self.push & (into == k)):
                m.d.sync += slot.eq(self.data)
        return m


class Queue(wiring.Component):
    """Up to `depth` words. `push` with `data` when the owner knows that there is room; `o` is a stream.

    A word comes out one cycle after it was pushed, two from depths above `LUT_RAM_WORDS` on.
    """

    def __init__(self, bits: int, depth: int):
        self._bits, self._depth = bits, depth
        super().__init__({"push": In(1), "data": In(bits), "o": Out(stream.Signature(bits))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._depth == 1:
            with m.If(self.o.ready):
                m.d.sync += self.o.valid.eq(0)
            with m.If(self.push):
                m.d.sync += [self.o.valid.eq(1), self.o.payload.eq(self.data)]
            return m
        small = self._depth <= LUT_RAM_WORDS
        kind, depth = (SyncFIFO, self._depth) if small else (BlockQueue, 1 << (self._depth - 1).bit_length())
        m.submodules.fifo = fifo = kind(width=self._bits, depth=depth)
        m.d.comb += [
            fifo.w_data.eq(self.data), fifo.w_en.eq(self.push), self.o.payload.eq(fifo.r_data),
            self.o.valid.eq(fifo.r_rdy), fifo.r_en.eq(self.o.ready),
        ]
        return m
