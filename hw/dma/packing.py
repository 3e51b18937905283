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
    """Deals the bytes of a packed stream out to beats; one beat per cycle. Latency one cycle, or (`late`) two: bytes
    go to their lanes a cycle after it is known whose they are, for words that come a long way.

    Ports: `word` (stream of `data_width` bits), `beat` (stream of `spec.beat`), `data` (stream of AXI `w` payload).
    After the last beat of a tile what is left of the last word is dropped. While `blank`, beats have no strobes
    and take no words.
    """

    def __init__(self, spec: DmaSpec, late: bool = False):
        self.spec, self.late = spec, late
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
            more.eq((beat.count > fill) & ~self.blank),
            go.eq(self.beat.valid & room & (self.word.valid | ~more)),
            self.beat.ready.eq(go),
            self.word.ready.eq(go & more),
        ]
        with m.If(go):
            m.d.sync += fill.eq(Mux(beat.tile_last | self.blank, 0, fill - beat.count))
        with m.If(go & more):
            m.d.sync += held.eq(self.word.payload)
        made = [self._joined(held, fill), (fill + beat.lane)[:size.bit_length() - 1], self._strobes(), beat.last]
        out = Signal()  # the register of the payload takes another beat
        m.d.comb += out.eq(~self.data.valid | self.data.ready)
        if self.late:
            valid, made = self._registered(m, go, out, made, room)
        else:
            valid = go
            m.d.comb += room.eq(out)
        joined, amount, strobes, last = made
        placed = rotate_bytes(m, joined, amount, size)
        with m.If(self.data.ready):
            m.d.sync += self.data.valid.eq(0)
        with m.If(out & valid):
            m.d.sync += [self.data.valid.eq(1), self.data.p.data.eq(placed), self.data.p.strb.eq(strobes),
                         self.data.p.last.eq(last)]
        return m

    @staticmethod
    def _registered(m: Module, go: Value, out: Value, made: list[Value], room: Signal) -> tuple[Value, list[Value]]:
        """A register of its own between what is `made` with `go` and the register of the payload; it has `room`."""
        valid = Signal()
        kept = [Signal(value.shape(), name=f"kept{k}") for k, value in enumerate(made)]
        m.d.comb += room.eq(~valid | out)
        with m.If(room):
            m.d.sync += valid.eq(go)
        with m.If(go):
            m.d.sync += [register.eq(value) for register, value in zip(kept, made, strict=True)]
        return valid, list(kept)

    def _joined(self, held: Value, fill: Value) -> Value:
        """The next bytes of the stream: the last `fill` bytes of `held`, in their lanes, and bytes of `word`."""
        size = self.spec.bytes
        return Cat(
            Mux(index + fill >= size, held.word_select(index, 8), self.word.payload.word_select(index, 8))
            for index in range(size)
        )

    def _strobes(self) -> Value:
        beat = self.beat.p
        end = beat.lane + beat.count
        return Cat((index >= beat.lane) & (index < end) & ~self.blank for index in range(self.spec.bytes))


def rotate_bytes(m: Module, word: Value, amount: Value, size: int) -> Value:
    """`word` of `size` bytes turned towards its high end by `amount` (modulo `size`) bytes.

    To be called outside of `m.If`, which would switch each of the steps.
    """
    return rotate_to(m, word, wire(m, "rotation", amount[:size.bit_length() - 1]), 8)
