"""Where AXI4-Streams of beats meet the words of a core: arrays are counted, so that no run takes words of the next."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.axi_stream.spec import StreamPort, beat_layout

__all__ = ["BeatJoiner", "BeatSplitter"]


class BeatSplitter(wiring.Component):
    """Beats of a stream into words, one per cycle, the first one in the cycle after its beat.

    Ports: `beat` (stream of `beat_layout`), `word` (stream of plain bits). `load` lets the beats of an array in; before
    the next `load` there are no others. `open`: beats of the array are still to come. `early`: a beat that was not the
    last one of its array had TLAST, since `load`; nothing else comes of that.
    """

    def __init__(self, port: StreamPort):
        self.port = port
        super().__init__({
            "beat": In(stream.Signature(beat_layout(port))), "word": Out(stream.Signature(port.word.width)),
            "load": In(1), "open": Out(1), "early": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        port, size = self.port, 8 * self.port.element_bytes
        place, held = Signal(range(port.elements + 1)), Signal(8 * port.bytes)  # words that are held
        coming, final = Signal(range(port.beats + 1)), Signal()  # beats to come, and whether it is one
        taken = Signal()
        m.d.comb += [
            self.open.eq(coming != 0), self.word.payload.eq(held), self.word.valid.eq(place != 0),
            self.beat.ready.eq(self.open & ((place == 0) | ((place == 1) & self.word.ready))),
            taken.eq(self.beat.valid & self.beat.ready),
        ]
        rest = port.words % port.elements or port.elements
        with m.If(taken):
            m.d.sync += [held.eq(self.beat.p.data), place.eq(Mux(final, rest, port.elements)),
                         coming.eq(coming - 1), final.eq(coming == 2)]
            with m.If(self.beat.p.last & ~final):
                m.d.sync += self.early.eq(1)
        with m.Elif(self.word.valid & self.word.ready):
            m.d.sync += [held.eq(held >> size), place.eq(place - 1)]
        with m.If(self.load):
            m.d.sync += [coming.eq(port.beats), final.eq(port.beats == 1), self.early.eq(0)]
        return m


class BeatJoiner(wiring.Component):
    """Words, one per cycle, into beats of a stream, a beat in the cycle after its last word.

    Ports: `word` (stream of plain bits), `beat`. `load` starts an array; `left`: of it there are beats that have not
    been taken.
    """

    def __init__(self, port: StreamPort):
        self.port = port
        super().__init__({
            "word": In(stream.Signature(port.word.width)), "beat": Out(stream.Signature(beat_layout(port))),
            "load": In(1), "left": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        port, size = self.port, 8 * self.port.element_bytes
        coming = Signal(range(port.words + 1))  # words to come
        place, element = Signal(range(port.elements)), Signal(size)
        given, full, final = Signal(), Signal(), Signal()
        word = self.word.payload.as_signed() if port.word.signed else self.word.payload
        m.d.comb += [
            element.eq(word), final.eq(coming == 1), full.eq(final | (place == port.elements - 1)),
            self.word.ready.eq(~self.beat.valid | self.beat.ready), given.eq(self.word.valid & self.word.ready),
            self.left.eq((coming != 0) | self.beat.valid),
        ]
        with m.If(self.beat.ready):
            m.d.sync += self.beat.valid.eq(0)
        with m.If(given):
            m.d.sync += [self.beat.valid.eq(full), self.beat.p.last.eq(final), coming.eq(coming - 1),
                         place.eq(Mux(full, 0, place + 1))]
            self._hold(m, place, element)
        with m.If(self.load):
            m.d.sync += [coming.eq(port.words), place.eq(0)]
        return m

    def _hold(self, m: Module, place: Value, element: Value) -> None:
        """The word in its place; a beat begins with nothing behind its first word."""
        size = len(element)
        with m.If(place == 0):
            m.d.sync += self.beat.p.data.eq(element)
        with m.Else():
            m.d.sync += self.beat.p.data.word_select(place, size).eq(element)
        if self.port.has_keep:
            places = range(self.port.elements)
            kept = Cat(Mux(place >= k, Const(-1, self.port.element_bytes), 0) for k in places)
            m.d.sync += self.beat.p.keep.eq(kept)
