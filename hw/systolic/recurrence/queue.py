"""The queue between two steps: room is reserved when a step fires, the word comes when it is computed."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

__all__ = ["ReservedQueue"]


class ReservedQueue(wiring.Component):
    """`depth` words of `width` bits. `reserve` takes room for one word (only while `room`); the word itself comes by
    `push` with `i`, at the same time or later, in the order of the reservations. `o`: the words, from the cycle after
    their push."""

    def __init__(self, width: int, depth: int):
        self.width, self.depth = width, depth
        super().__init__({
            "reserve": In(1), "room": Out(1), "push": In(1), "i": In(width), "o": Out(stream.Signature(width)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.words = words = SyncFIFO(width=self.width, depth=self.depth)
        taken, pop = Signal(range(self.depth + 1)), Signal()
        m.d.comb += [
            self.room.eq(taken != self.depth),
            words.w_en.eq(self.push), words.w_data.eq(self.i),
            self.o.payload.eq(words.r_data), self.o.valid.eq(words.r_rdy), words.r_en.eq(self.o.ready),
            pop.eq(self.o.valid & self.o.ready),
        ]
        m.d.sync += taken.eq(taken + self.reserve - pop)
        return m
