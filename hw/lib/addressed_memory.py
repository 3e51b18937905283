"""A memory whose addresses are data: any number of loads per cycle, one store."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Mux, Shape, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.lib.valid_bits import ValidBits

__all__ = ["LUT_MEMORY_WORDS", "AddressedMemory"]

_MEMORY = {"no_rw_check": "1"}
"""A load that needs a word comes a cycle after its store, so synthesis need not care what is read in the same cycle."""

LUT_MEMORY_WORDS = 32
"""Words up to which a memory lies in look-up tables, which are read at once."""


class AddressedMemory(wiring.Component):
    """`depth` words of `shape`, one copy of them per load.

    A cycle with `en`: load k asks for word ``load_address[k]``, which is ``load_data[k]`` until the next such cycle; of
    the stores at most one has `store` set, and its word is there for loads from the next cycle on.

    `forwarded`: with 1, loads of the same cycle see the word, too, which goes past the memory then. With 2 those of the
    cycle before as well, and ``load_data[k]`` comes a cycle later. With 0, those of the same cycle may see it or not.

    `initial`: what all words hold after a cycle with `clear`, which is one without `en` (`ValidBits`).
    """

    def __init__(self, shape: Shape, depth: int, loads: int, stores: int, *, forwarded: int = 0,
                 initial: int | None = None):
        self.shape, self.depth, self.forwarded, self.initial = shape, depth, forwarded, initial
        address = range(max(2, depth))
        super().__init__({
            "en": In(1), "load_address": In(address).array(loads), "load_data": Out(shape).array(loads),
            "store": In(stores), "store_address": In(address).array(stores),
            "store_data": In(shape).array(stores),
            **({} if initial is None else {"clear": In(1)}),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        address, data = self._stored()
        attributes: Any = {} if self.forwarded or self.depth <= LUT_MEMORY_WORDS else _MEMORY
        valid = self._valid_bits(m, address)
        for number, (wanted, found) in enumerate(zip(self.load_address, self.load_data, strict=True)):
            memory = Memory(shape=self.shape.width, depth=max(2, self.depth), init=[], attrs=attributes)
            m.submodules[f"copy{number}"] = memory
            write = memory.write_port()
            m.d.comb += [write.en.eq(self.en & self.store.any()), write.addr.eq(address), write.data.eq(data)]
            word, known = self._read(m, memory, write, wanted), None
            if valid is not None:
                m.d.comb += valid.asked[number].eq(wanted)
                known = valid.valid[number]
            if self.forwarded > 1:
                word, known = self._overtaken(m, word, known, wanted, address, data)
            if known is not None and self.initial is not None:
                word = Mux(known, word, Const(self.initial, self.shape))
            m.d.comb += found.eq(word)
        return m

    def _read(self, m: Module, memory: Memory, write: Any, wanted: Value) -> Value:
        """The word asked for in the last cycle with `en`. Of a few words, which lie in look-up tables, the address is
        kept instead of the word: what computes it is not on the way through the memory, too, and all stores are seen.
        """
        if self.depth > LUT_MEMORY_WORDS:
            read = memory.read_port(transparent_for=(write,) if self.forwarded else ())
            m.d.comb += [read.en.eq(self.en), read.addr.eq(wanted)]
            return read.data
        at = Signal.like(wanted, name="at", reset_less=True)
        with m.If(self.en):
            m.d.sync += at.eq(wanted)
        read = memory.read_port(domain="comb")
        m.d.comb += read.addr.eq(at)
        return read.data

    def _valid_bits(self, m: Module, address: Value) -> ValidBits | None:
        """Which words have been stored to, if that matters."""
        if self.initial is None:
            return None
        m.submodules.valid = valid = ValidBits(max(2, self.depth), len(self.load_address))
        m.d.comb += [valid.clear.eq(self.clear), valid.en.eq(self.en), valid.set.eq(self.store.any()),
                     valid.address.eq(address)]
        return valid

    def _overtaken(self, m: Module, word: Value, known: Value | None, wanted: Value, address: Value,
                   data: Value) -> tuple[Value, Value | None]:
        """`word`, or `data` if that is just being stored where the load has looked, a cycle later; and whether it has
        ever been stored, if `known` says that of `word`. Both have registers: which of the words that a memory gives
        late is the right one must not wait for whether there is one."""
        asked, result = Signal.like(wanted, reset_less=True), Signal(self.shape, reset_less=True)
        overtaken, stored = Signal(), Signal(reset_less=True)
        m.d.comb += overtaken.eq(self.store.any() & (asked == address))
        with m.If(self.en):
            m.d.sync += [asked.eq(wanted), result.eq(Mux(overtaken, data, word))]
            if known is not None:
                m.d.sync += stored.eq(overtaken | known)
        return result, None if known is None else stored

    def _stored(self) -> tuple[Value, Value]:
        """Address and word of the store of this cycle."""
        address, data = Value.cast(self.store_address[0]), Value.cast(self.store_data[0])
        for number in range(1, len(self.store)):
            chosen = self.store[number]
            address = Mux(chosen, self.store_address[number], address)
            data = Mux(chosen, self.store_data[number], data)
        return address, data
