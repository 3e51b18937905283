"""A queue of words of the memory bus, in block RAM with a register behind it."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

__all__ = ["WordQueue"]


class WordQueue(wiring.Component):
    """`depth` words of `width` bits in block RAM, and a register behind them, whose word is `data` while `valid`;
    `take` uses it up. `put` stores `word` if there is `room`. `level`: words inside. A word comes out two cycles after
    it was put in at the earliest."""

    def __init__(self, width: int, depth: int):
        self.width, self.depth = width, depth
        super().__init__({
            "word": In(width), "put": In(1), "room": Out(1), "data": Out(width), "valid": Out(1), "take": In(1),
            "level": Out(range(depth + 2)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = SyncFIFOBuffered(width=self.width, depth=self.depth)
        move = Signal()
        m.d.comb += [
            memory.w_data.eq(self.word), memory.w_en.eq(self.put), self.room.eq(memory.w_rdy),
            move.eq(memory.r_rdy & (~self.valid | self.take)), memory.r_en.eq(move),
        ]
        m.d.sync += self.level.eq(self.level + (self.put & self.room) - (self.valid & self.take))
        with m.If(self.take):
            m.d.sync += self.valid.eq(0)
        with m.If(move):
            m.d.sync += [self.data.eq(memory.r_data), self.valid.eq(1)]
        return m
