"""Between beats with some valid bytes and a packed stream without gaps."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.dma.spec import DmaSpec
from hw.lib.rotation import rotate_to
from hw.lib.wires import wire

__all__ = ["Packer", "Unpacker"]


class Packer(wiring.Component):
    """Joins the valid bytes of chunks into full words; latency one cycle, one chunk per cycle.

    Ports: `chunk` (stream of `spec.chunk`), `word` (stream of `spec.word`). After the last chunk of a tile what
    is left comes out as a last word, so a tile can end with one cycle in which no chunk is taken. `clear`
    forgets a tile that was begun.
    """

    def __init__(self, spec: DmaSpec):
        self.spec = spec
        super().__init__({
            "chunk": In(stream.Signature(spec.chunk)),
            "word": Out(stream.Signature(spec.word)),
            "clear": In(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = self.spec.bytes
        held = Signal(data.ArrayLayout(8, size))
        fill = Signal(range(size))
        ending = Signal()
        low, high, total = self._merge(m, held, fill)
        room = ~self.word.valid | self.word.ready
        m.d.comb += self.chunk.ready.eq(room & ~ending)
        with m.If(self.word.ready):
            m.d.sync += self.word.valid.eq(0)
        with m.If(self.chunk.valid & self.chunk.ready):
            full, rest = total >= size, total[: self.spec.lane_bits]
            last = self.chunk.p.last
            over = full & (rest != 0)
            m.d.sync += [
                self.word.valid.eq(full | last),
                self.word.p.data.eq(low),
                self.word.p.last.eq(last & ~over),
                held.eq(Mux(full, high, low)),
                fill.eq(Mux(last & ~over, 0, rest)),
                ending.eq(last & over),
            ]
            with m.If(last & ~over):
                m.d.sync += held.eq(0)
        with m.Elif(ending & room):
            m.d.sync += [self.word.valid.eq(1), self.word.p.data.eq(held), self.word.p.last.eq(1)]
            m.d.sync += [ending.eq(0), fill.eq(0), held.eq(0)]
        with m.If(self.clear):
            m.d.sync += [self.word.valid.eq(0), ending.eq(0), fill.eq(0), held.eq(0)]
        return m

    def _merge(self, m: Module, held: data.View, fill: Value) -> tuple[data.View, data.View, Signal]:
        """Bytes held and bytes of the chunk as two words, and how many there are. Other bytes are zero."""
        size = self.spec.bytes
        total = Signal(range(2 * size))
        low, high = (Signal(data.ArrayLayout(8, size), name=name) for name in ("low", "high"))
        turned = rotate_bytes(m, self.chunk.p.data, fill - self.chunk.p.lane, size)
        m.d.comb += total.eq(fill + self.chunk.p.count)
        for index in range(size):
            fresh = turned.word_select(index, 8)
            inside = (index >= fill) & (index < total)
            m.d.comb += low[index].eq(held[index] | Mux(inside, fresh, 0))
            m.d.comb += high[index].eq(Mux(index + size < total, fresh, 0))
        return low, high, total


class Unpacker(wiring.Component):
    """Deals the bytes of a packed stream out to beats; latency one cycle, one beat per cycle.

    Ports: `word` (stream of `data_width` bits), `beat` (stream of `spec.beat`), `data` (stream of AXI `w` payload).
    After the last beat of a tile what is left of the last word is dropped. While `blank`, beats have no strobes
    and take no words.
    """

    def __init__(self, spec: DmaSpec):
        self.spec = spec
        self.payload = data.StructLayout({"data": spec.data_width, "strb": spec.bytes, "last": 1})
        super().__init__({
            "word": In(stream.Signature(spec.data_width)),
            "beat": In(stream.Signature(spec.beat)),
            "data": Out(stream.Signature(self.payload)),
            "blank": In(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = self.spec.bytes
        beat = self.beat.p
        held = Signal(self.spec.data_width)
        fill = Signal(range(size))
        room, more, go = Signal(), Signal(), Signal()
        m.d.comb += [
            room.eq(~self.data.valid | self.data.ready),
            more.eq((beat.count > fill) & ~self.blank),
            go.eq(self.beat.valid & room & (self.word.valid | ~more)),
            self.beat.ready.eq(go),
            self.word.ready.eq(go & more),
        ]
        placed = self._place(m, held, fill)
        with m.If(self.data.ready):
            m.d.sync += self.data.valid.eq(0)
        with m.If(go):
            m.d.sync += [
                self.data.valid.eq(1),
                self.data.p.data.eq(placed),
                self.data.p.strb.eq(self._strobes()),
                self.data.p.last.eq(beat.last),
                fill.eq(Mux(beat.tile_last | self.blank, 0, fill - beat.count)),
            ]
        with m.If(go & more):
            m.d.sync += held.eq(self.word.payload)
        return m

    def _place(self, m: Module, held: Value, fill: Value) -> Value:
        """The next bytes of the stream, first one in the beat's lane. The last `fill` bytes of `held` come first."""
        size = self.spec.bytes
        joined = Cat(
            Mux(index + fill >= size, held.word_select(index, 8), self.word.payload.word_select(index, 8))
            for index in range(size)
        )
        return rotate_bytes(m, joined, fill + self.beat.p.lane, size)

    def _strobes(self) -> Value:
        beat = self.beat.p
        end = beat.lane + beat.count
        return Cat((index >= beat.lane) & (index < end) & ~self.blank for index in range(self.spec.bytes))


def rotate_bytes(m: Module, word: Value, amount: Value, size: int) -> Value:
    """`word` of `size` bytes turned towards its high end by `amount` (modulo `size`) bytes.

    To be called outside of `m.If`, which would switch each of the steps.
    """
    return rotate_to(m, word, wire(m, "rotation", amount[:size.bit_length() - 1]), 8)
