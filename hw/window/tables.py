"""Arrays that values index: on chip as words, filled before the loop, read within the body's cycle."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.window.spec import WORD, Table, element_bits

__all__ = ["TableMemory"]


class TableMemory(wiring.Component):
    """The words of `spec`, in memory of look-up tables. A cycle with `put` sets `word` at `address`. For each of
    `readers`, `elements` is what its `indices` (32 bits each) name, in the same cycle; 0 outside of the array."""

    def __init__(self, spec: Table, readers: int):
        self.spec, self.readers = spec, readers
        rank = len(spec.extents)
        super().__init__({
            "put": In(1), "address": In(range(max(2, spec.words))), "word": In(WORD),
            "indices": In(WORD).array(readers, rank), "elements": Out(spec.width).array(readers)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.words = words = Memory(shape=WORD, depth=max(2, self.spec.words), init=[])
        write = words.write_port()
        m.d.comb += [write.en.eq(self.put), write.addr.eq(self.address), write.data.eq(self.word)]
        for number in range(self.readers):
            read = words.read_port(domain="comb")
            address, lane, inside = self._place(list(self.indices[number]))
            found = Signal(WORD, name=f"found{number}")
            m.d.comb += [read.addr.eq(address), found.eq(read.data)]
            element = found.word_select(lane, element_bits(self.spec.width))[:self.spec.width]
            m.d.comb += self.elements[number].eq(Mux(inside, element, 0))
        return m

    def _place(self, indices: Sequence[Value]) -> tuple[Value, Value, Value]:
        """Word, element of it, and whether there is one: rows begin words."""
        extents = self.spec.extents
        inside = Cat(*(index < extent for index, extent in zip(indices, extents, strict=True))).all()
        used = [index[:max(1, (extent - 1).bit_length())] for index, extent in zip(indices, extents, strict=True)]
        row: Value = Const(0)
        for index, extent in zip(used[:-1], extents[:-1], strict=True):
            row = row * extent + index
        shift = (WORD // element_bits(self.spec.width)).bit_length() - 1
        return row * self.spec.row_words + (used[-1] >> shift), used[-1][:shift], inside
