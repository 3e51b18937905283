"""A bit per word that says whether the word has been stored, cleared at once."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["ValidBits"]

_ROW = 16
"""Bits in a row: of a memory of look-up tables, of which a row's flip-flop says whether there is any in it."""


class ValidBits(wiring.Component):
    """`depth` bits, which `clear` makes 0 and a cycle with `en` and `set` makes 1 at `address`.

    In a cycle with `en` reader k asks for bit ``asked[k]``; from the next on ``valid[k]`` is it, with all that have
    been set until then. Rows of bits lie in memory that is read at once; only a bit per row has to be cleared.
    """

    def __init__(self, depth: int, readers: int):
        self.depth = depth
        address = range(depth)
        super().__init__({"clear": In(1), "en": In(1), "set": In(1), "address": In(address),
                          "asked": In(address).array(readers), "valid": Out(1).array(readers)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows = -(-self.depth // _ROW)
        used = Signal(rows)
        m.submodules.bits = bits = Memory(shape=_ROW, depth=max(2, rows), init=[])
        column, row = self.address[: _ROW.bit_length() - 1], self.address[_ROW.bit_length() - 1 :]
        write, before = bits.write_port(), bits.read_port(domain="comb")
        m.d.comb += [
            before.addr.eq(row), write.addr.eq(row), write.en.eq(self.en & self.set),
            write.data.eq(before.data & used.bit_select(row, 1).replicate(_ROW) | (1 << column)),
        ]
        for asked, valid in zip(self.asked, self.valid, strict=True):
            place = Signal.like(asked, name="place", reset_less=True)
            with m.If(self.en):
                m.d.sync += place.eq(asked)
            read = bits.read_port(domain="comb")
            at = place[_ROW.bit_length() - 1 :]
            m.d.comb += [read.addr.eq(at),
                         valid.eq(used.bit_select(at, 1) & read.data.bit_select(place[: _ROW.bit_length() - 1], 1))]
        with m.If(self.clear):
            m.d.sync += used.eq(0)
        with m.Elif(write.en):
            m.d.sync += used.bit_select(row, 1).eq(1)
        return m
