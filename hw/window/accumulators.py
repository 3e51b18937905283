"""Reductions by label: one value in memory on chip for each label, which values of the run address."""

from __future__ import annotations

from math import prod

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.lib.addressed_memory import AddressedMemory
from hw.window.operators import reduce_pair, start_of_reduction
from hw.window.ports import RequestPort
from hw.window.spec import WORD
from hw.window.writer import TileWriter

__all__ = ["AccumulatorWriter"]


class AccumulatorWriter(wiring.Component):
    """Reductions of `bits` bits by `kind` (`hw.window.operators.reduce_pair`), for each of `extents` labels one, of
    which memory gets `width` bits.

    `start`: for one cycle, with `address` as it stays; all are then what a reduction of no values is. A cycle with
    `put` takes `value` for the place that `labels` (32 bits each, in the order of `extents`) name, in each cycle if
    need be, and for one place again and again; labels that are not below their extents drop it. `finish`, from the
    cycle after the last `put` on: the results go to memory, one place per cycle as long as memory takes the words,
    packed in rows along the last extent. `busy`: not all of it is in memory.
    """

    def __init__(self, kind: str, extents: tuple[int, ...], bits: int, width: int, address_bits: int, count_bits: int):
        self.kind, self.extents, self.widths, self.bits = kind, extents, (bits, width), (address_bits, count_bits)
        self.places = prod(extents)
        super().__init__({
            "start": In(1), "address": In(address_bits), "put": In(1), "labels": In(WORD).array(len(extents)),
            "value": In(bits), "finish": In(1), "memory": Out(RequestPort(address_bits, writes=True)), "busy": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = self.widths[0]
        m.submodules.kept = kept = AddressedMemory(unsigned(bits), self.places, 1, 1, forwarded=1,
                                                   initial=start_of_reduction(self.kind, bits))
        place, value, taken = Signal(range(max(2, self.places))), Signal(bits), Signal()
        before = Signal(bits)
        m.d.comb += before.eq(kept.load_data[0])
        inside = [label < extent for label, extent in zip(self.labels, self.extents, strict=True)]
        m.d.sync += [place.eq(self._place()), value.eq(self.value), taken.eq(self.put & Cat(*inside).all())]
        m.d.comb += [kept.clear.eq(self.start), kept.en.eq(~self.start), kept.store[0].eq(taken),
                     kept.store_address[0].eq(place), kept.store_data[0].eq(reduce_pair(self.kind, before, value))]
        leaving, following = self._leave(m, before)
        m.d.comb += kept.load_address[0].eq(Mux(leaving, following, self._place()))
        return m

    def _place(self) -> Value:
        """The place that the labels name, the last one fastest."""
        place: Value = Const(0)
        for label, extent in zip(self.labels, self.extents, strict=True):
            place = place * extent + label[:(extent - 1).bit_length() or 1]
        return place

    def _leave(self, m: Module, found: Signal) -> tuple[Signal, Value]:
        """Write all places when `finish` says so: whether that is going on, and the place that is needed next, which
        is `found` a cycle later."""
        address_bits, count_bits = self.bits
        ones = (1,) * len(self.extents)
        m.submodules.writer = writer = TileWriter(ones, self.widths[1], address_bits, count_bits)
        waiting, leaving, there = Signal(), Signal(), Signal()
        cursor = Signal(range(self.places + 1))
        moved = there & writer.ready
        m.d.comb += [writer.start.eq(self.start), writer.address.eq(self.address), writer.values[0].eq(found),
                     writer.put.eq(moved)]
        m.d.comb += [place.eq(extent) for place, extent in zip(writer.loop, self.extents, strict=True)]
        wiring.connect(m, writer.memory, wiring.flipped(self.memory))
        following = cursor + moved
        last = moved & (cursor == self.places - 1)
        m.d.sync += [cursor.eq(following), there.eq(leaving & ~last)]
        with m.If(self.start):
            m.d.sync += [waiting.eq(1), cursor.eq(0)]
        with m.Elif(waiting & self.finish):
            m.d.sync += [waiting.eq(0), leaving.eq(1)]
        with m.If(last):
            m.d.sync += leaving.eq(0)
        m.d.comb += self.busy.eq(waiting | leaving | writer.busy)
        return leaving, following
