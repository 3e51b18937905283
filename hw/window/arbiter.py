"""Who may access a memory."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.window.ports import MemoryPort, RequestPort
from hw.window.spec import WORD

__all__ = ["MemoryArbiter"]


class MemoryArbiter(wiring.Component):
    """One access per cycle for `writers` and `readers`, writers first, those with lesser numbers before others.

    Words that are read come to all readers as `word`, in the cycle after the request, to the one whose bit of
    `arrives` is set.
    """

    def __init__(self, writers: int, readers: int, address_bits: int):
        self.address_bits = address_bits
        super().__init__({
            "writers": In(RequestPort(address_bits, writes=True)).array(writers),
            "readers": In(RequestPort(address_bits, writes=False)).array(readers),
            "arrives": Out(readers), "word": Out(WORD), "memory": Out(MemoryPort(address_bits))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        memory = self.memory
        requests = [*self.writers, *self.readers]
        before: Value = Const(0)
        for request in requests:
            m.d.comb += request.ready.eq(memory.ready & ~before)
            before = before | request.valid
        address: Value = Const(0, self.address_bits)
        for request in reversed(requests):
            address = Mux(request.valid, request.address, address)
        data: Value = Const(0, WORD)
        for request in reversed(list(self.writers)):
            data = Mux(request.valid, request.data, data)
        m.d.comb += [memory.valid.eq(before), memory.address.eq(address), memory.data_out.eq(data),
                     self.word.eq(memory.data_in)]
        for writer in self.writers:
            with m.If(writer.valid):
                m.d.comb += memory.write.eq(1)
        for number, reader in enumerate(self.readers):
            m.d.sync += self.arrives[number].eq(reader.valid & reader.ready)
        return m
