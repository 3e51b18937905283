"""Queues of words in block RAM."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["BlockQueue", "WordQueue"]


class BlockQueue(wiring.Component):
    """`depth` words, a power of two and at least 2, of `width` bits in block RAM; cycles and ports (`w_data`, `w_en`,
    `w_rdy`, `r_data`, `r_rdy`, `r_en`) are those of Amaranth's buffered FIFO: a word comes out two cycles after it went
    in. The memory is read only where it is not written, and its attribute says so: synthesis need not emulate what
    happens when both meet, which takes a register and a multiplexer for each bit of memory output.
    """

    def __init__(self, width: int, depth: int):
        self.width, self.depth = width, depth
        super().__init__({"w_data": In(width), "w_en": In(1), "w_rdy": Out(1), "r_data": Out(width), "r_rdy": Out(1),
                          "r_en": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        apart: Any = {"no_rw_check": 1}
        m.submodules.storage = storage = Memory(shape=self.width, depth=self.depth, init=[], attrs=apart)
        writer, reader = storage.write_port(), storage.read_port()
        room, some = Signal(range(self.depth), init=self.depth - 1), Signal(init=1)  # of it: any
        there, move = Signal(), Signal()  # any words are in the memory; the first of them goes to its output
        # What comes after each address is a register, so no carry follows from `move`.
        after = [Signal(range(self.depth), init=1, name=name) for name in ("written_next", "read_next")]
        m.d.comb += [
            self.w_rdy.eq(some), writer.en.eq(self.w_en & self.w_rdy), writer.data.eq(self.w_data),
            move.eq(there & (~self.r_rdy | self.r_en)), reader.en.eq(move), self.r_data.eq(reader.data),
        ]
        for moves, address, following in ((writer.en, writer.addr, after[0]), (move, reader.addr, after[1])):
            with m.If(moves):
                m.d.sync += [address.eq(following), following.eq(following + 1)]
        with m.If(writer.en & ~move):
            m.d.sync += [room.eq(room - 1), some.eq(room != 1), there.eq(1)]
        with m.Elif(move & ~writer.en):
            m.d.sync += [room.eq(room + 1), some.eq(1), there.eq(room != self.depth - 2)]
        with m.If(move):
            m.d.sync += self.r_rdy.eq(1)
        with m.Elif(self.r_en):
            m.d.sync += self.r_rdy.eq(0)
        return m


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
        m.submodules.memory = memory = BlockQueue(self.width, self.depth)
        move, held = Signal(), Signal(self.width, reset_less=True)  # without reset it can be the block RAM's own
        m.d.comb += [
            memory.w_data.eq(self.word), memory.w_en.eq(self.put), self.room.eq(memory.w_rdy), self.data.eq(held),
            move.eq(memory.r_rdy & (~self.valid | self.take)), memory.r_en.eq(move),
        ]
        m.d.sync += self.level.eq(self.level + (self.put & self.room) - (self.valid & self.take))
        with m.If(self.take):
            m.d.sync += self.valid.eq(0)
        with m.If(move):
            m.d.sync += [held.eq(memory.r_data), self.valid.eq(1)]
        return m
