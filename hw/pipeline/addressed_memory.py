"""A memory whose addresses are data: any number of loads per cycle, one store."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.pipeline.spec import Word

__all__ = ["AddressedMemory"]

_MEMORY = {"no_rw_check": "1"}
"""A load that needs a word comes a cycle after its store, so synthesis need not care what is read in the same cycle."""


class AddressedMemory(wiring.Component):
    """`depth` words of type `word`, one copy of them per load.

    A cycle with `en`: load k asks for word ``load_address[k]``, which is ``load_data[k]`` until the next such cycle; of
    the stores at most one has `store` set, and its word is there for loads from the next cycle on.
    """

    def __init__(self, word: Word, depth: int, loads: int, stores: int):
        self.word, self.depth = word, depth
        address = range(max(2, depth))
        super().__init__({
            "en": In(1), "load_address": In(address).array(loads), "load_data": Out(word.shape).array(loads),
            "store": In(stores), "store_address": In(address).array(stores),
            "store_data": In(word.shape).array(stores),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        address, data = self._stored()
        for number, (wanted, found) in enumerate(zip(self.load_address, self.load_data, strict=True)):
            memory = Memory(shape=self.word.width, depth=max(2, self.depth), init=[], attrs=_MEMORY)
            m.submodules[f"copy{number}"] = memory
            write, read = memory.write_port(), memory.read_port()
            m.d.comb += [
                write.en.eq(self.en & self.store.any()), write.addr.eq(address), write.data.eq(data),
                read.en.eq(self.en), read.addr.eq(wanted), found.eq(read.data),
            ]
        return m

    def _stored(self) -> tuple[Value, Value]:
        """Address and word of the store of this cycle."""
        address, data = Value.cast(self.store_address[0]), Value.cast(self.store_data[0])
        for number in range(1, len(self.store)):
            chosen = self.store[number]
            address = Mux(chosen, self.store_address[number], address)
            data = Mux(chosen, self.store_data[number], data)
        return address, data
