"""Queues at the edges of a kernel, where streams of words meet its steps."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["EdgeQueue"]


class EdgeQueue(wiring.Component):
    """A queue of `depth` words (a power of two, at least 2) of `width` bits in LUT memory.

    `put` stores `word` if there is `room`; `data` is the oldest word while `valid`, which `take` drops. A word is seen
    in the cycle after it was put in. `room` and `valid` come from registers: a kernel asks all its queues whether it
    can step, and tells them all in the same cycle. There is no `room` for the last `spare` words, which are taken
    all the same: a step's `put` comes so many cycles after it.
    """

    def __init__(self, width: int, depth: int, spare: int = 0):
        self.width, self.depth, self.spare = width, depth, spare
        super().__init__({
            "word": In(width), "put": In(1), "room": Out(1), "data": Out(width), "valid": Out(1), "take": In(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=self.width, depth=self.depth, init=[])
        writer, reader = memory.write_port(), memory.read_port(domain="comb")
        level, full, put, take = Signal(range(self.depth + 1)), Signal(), Signal(), Signal()
        most = self.depth - self.spare
        m.d.comb += [
            put.eq(self.put & (self.room | bool(self.spare))), take.eq(self.take & self.valid),
            writer.en.eq(put), writer.data.eq(self.word), self.data.eq(reader.data), self.room.eq(~full),
        ]
        m.d.sync += [writer.addr.eq(writer.addr + put), reader.addr.eq(reader.addr + take)]
        with m.If(put & ~take):
            m.d.sync += [level.eq(level + 1), self.valid.eq(1), full.eq(level >= most - 1)]
        with m.Elif(take & ~put):
            m.d.sync += [level.eq(level - 1), self.valid.eq(level != 1), full.eq(level > most)]
        return m
