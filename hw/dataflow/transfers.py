"""Streams of elements from and to main memory: a few queues share one burst engine.

Every stream is one run of consecutive bytes in memory, moved in chunks (`hw.dma.chunks`), many of which are under way.
"""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Member, Out, connect, flipped

from hw.dataflow.registers import element_bytes
from hw.dataflow.spec import StreamSpec
from hw.dma.axi import Axi4Signature
from hw.dma.chunks import CHUNK_WORDS, ChunkChoice, ChunkReader, ChunkWriter

__all__ = ["Joiner", "Splitter", "StreamReader", "StreamWriter"]


class Splitter(wiring.Component):
    """Memory words of `bus_bits` into elements of `width` bits, the lowest one first; an element per cycle."""

    def __init__(self, width: int, bus_bits: int):
        self.width, self.bus_bits = width, bus_bits
        super().__init__({"i": In(stream.Signature(bus_bits)), "o": Out(stream.Signature(width))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = 8 * element_bytes(self.width)
        count = self.bus_bits // size
        place, held = Signal(range(count + 1)), Signal(self.bus_bits)
        last = Signal()
        m.d.comb += [
            self.o.payload.eq(held[: self.width]),
            self.o.valid.eq(place != 0),
            last.eq((place == 1) & self.o.ready),
            self.i.ready.eq((place == 0) | last),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [held.eq(self.i.payload), place.eq(count)]
        with m.Elif(self.o.valid & self.o.ready):
            m.d.sync += [held.eq(held >> size), place.eq(place - 1)]
        return m


class Joiner(wiring.Component):
    """Elements of `width` bits (extended by their sign if `signed`) into memory words of `bus_bits`; what is left of
    the last one is zero. An element per cycle. `load` starts a run of `words` elements, up to `most`."""

    def __init__(self, width: int, signed: bool, most: int, bus_bits: int):
        self.width, self.signed, self.most, self.bus_bits = width, signed, most, bus_bits
        super().__init__({"load": In(1), "words": In(range(most + 1)), "i": In(stream.Signature(width)),
                          "o": Out(stream.Signature(bus_bits))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = 8 * element_bytes(self.width)
        count = self.bus_bits // size
        place, left, some = Signal(range(count)), Signal(range(self.most + 1)), Signal()  # some: left is not 0
        element = Signal(size)
        full = Signal()
        value = self.i.payload.as_signed() if self.signed else self.i.payload
        room = ~self.o.valid | self.o.ready
        m.d.comb += [
            element.eq(value),
            self.i.ready.eq(room & some),
            full.eq((place == count - 1) | (left == 1)),
        ]
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(self.i.valid & self.i.ready):
            with m.If(place == 0):
                m.d.sync += self.o.payload.eq(element)
            with m.Else():
                m.d.sync += self.o.payload.word_select(place, size).eq(element)
            m.d.sync += [self.o.valid.eq(full), place.eq(Mux(full, 0, place + 1))]
            m.d.sync += [left.eq(left - 1), some.eq(left != 1)]
        with m.If(self.load):
            m.d.sync += [left.eq(self.words), some.eq(self.words != 0)]
        return m


class _Turns(wiring.Component):
    """Chooses chunks of streams that lie in memory as one run each.

    `load` starts all streams at their `address`, with ``bytes0`` ... to move, up to `most`. The turn goes round, a
    stream per cycle. Choosing and going are a cycle apart, so paths stay short whatever the number of streams.
    """

    def __init__(self, most: list[int], bus_bytes: int):
        self.most, self.bus_bytes = most, bus_bytes
        count = len(most)
        super().__init__({
            "load": In(1), "address": In(32).array(count),
            **{f"bytes{k}": In(range(n + 1)) for k, n in enumerate(most)}, "choice": Out(ChunkChoice(count, bus_bytes)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        choice, chunk = self.choice, CHUNK_WORDS * self.bus_bytes
        places = [Signal(32, name=f"place{k}") for k in range(len(self.most))]
        lefts = [Signal(range(n + 1), name=f"left{k}") for k, n in enumerate(self.most)]
        some = Signal(len(self.most))  # of which streams there is anything left
        following, chosen = Signal.like(choice.turn), Signal()
        place, rest, able = Signal(32), Signal(range(max(self.most) + 1)), Signal()
        kept = Signal.like(rest)
        with m.Switch(following):
            for k in range(len(self.most)):
                with m.Case(k):
                    m.d.comb += [place.eq(places[k]), rest.eq(lefts[k]), able.eq(choice.able[k] & choice.left[k])]
        m.d.comb += [choice.go.eq(chosen & ~choice.busy), choice.left.eq(some)]
        for k, left in enumerate(lefts):
            words = (left + self.bus_bytes - 1)[self.bus_bytes.bit_length() - 1 :]
            m.d.comb += choice.words[k].eq(Mux(left >= chunk, CHUNK_WORDS, words))
        with m.If(~choice.busy & ~chosen):
            m.d.sync += [
                choice.turn.eq(following), choice.from_.eq(place), kept.eq(rest), chosen.eq(able),
                choice.bytes.eq(Mux(rest > chunk, chunk, rest)),
                following.eq(Mux(following == len(self.most) - 1, 0, following + 1)),
            ]
        with m.If(choice.step):
            m.d.sync += chosen.eq(0)
            with m.Switch(choice.turn):
                for k in range(len(self.most)):
                    with m.Case(k):
                        m.d.sync += [places[k].eq(choice.from_ + choice.bytes), lefts[k].eq(kept - choice.bytes),
                                     some[k].eq(kept != choice.bytes)]
        with m.If(self.load):
            m.d.sync += [chosen.eq(0), following.eq(0)]
            for k, (start, left) in enumerate(zip(places, lefts, strict=True)):
                length = getattr(self, f"bytes{k}")
                m.d.sync += [start.eq(self.address[k]), left.eq(length), some[k].eq(length != 0)]
        return m


def _ports(streams: tuple[StreamSpec, ...]) -> dict[str, Member]:
    """What both directions have: control, and address and length (in words) of every stream."""
    return {
        "load": In(1), "stop": In(1), "busy": Out(1), "error": Out(1), "left": Out(len(streams)),
        "address": In(32).array(len(streams)),
        **{f"words_{k}": In(range(s.words + 1)) for k, s in enumerate(streams)},
    }


def _control(m: Module, port: StreamReader | StreamWriter, chunks: ChunkReader | ChunkWriter) -> None:
    """The choice of chunks, and what the host sees."""
    sizes = [element_bytes(s.word.width) for s in port.streams]
    m.submodules.turns = turns = _Turns([s.words * size for s, size in zip(port.streams, sizes, strict=True)],
                                           port.bus_bits // 8)
    connect(m, turns.choice, chunks.choice)
    m.d.comb += [turns.load.eq(port.load), chunks.stop.eq(port.stop), port.busy.eq(chunks.busy),
                 port.error.eq(chunks.error), port.left.eq(chunks.left)]
    for k, size in enumerate(sizes):
        m.d.comb += [turns.address[k].eq(port.address[k]),
                     getattr(turns, f"bytes{k}").eq(getattr(port, f"words_{k}") * size)]


class StreamReader(wiring.Component):
    """Input streams over a bus of `bus_bits`. `load` (with `address` and ``words_k`` for each) starts a run; ``o_k``
    are the elements. `left`: bit per stream with bytes that have not come; `stop` gives up; `busy`: the engine has a
    job; `error`: memory reported one. `ar`, `r`: AXI4. A reset comes before every run.

    No proof: queues of 128 words are beyond the solver; those and the engines are proven.
    """

    def __init__(self, streams: tuple[StreamSpec, ...], bus_bits: int):
        self.streams, self.bus_bits = streams, bus_bits
        axi = Axi4Signature(data_width=bus_bits).members
        super().__init__({
            **_ports(streams), **{f"o_{k}": Out(stream.Signature(s.word.width)) for k, s in enumerate(streams)},
            "ar": axi["ar"], "r": axi["r"],
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.chunks = chunks = ChunkReader(len(self.streams), self.bus_bits)
        connect(m, chunks.ar, flipped(self.ar))
        connect(m, flipped(self.r), chunks.r)
        _control(m, self, chunks)
        for k, spec in enumerate(self.streams):
            m.submodules[f"split{k}"] = split = Splitter(spec.word.width, self.bus_bits)
            m.d.comb += [split.i.payload.eq(chunks.data[k]), split.i.valid.eq(chunks.valid[k]),
                         chunks.take[k].eq(split.i.ready)]
            connect(m, split.o, flipped(getattr(self, f"o_{k}")))
        return m


class StreamWriter(wiring.Component):
    """Output streams over a bus of `bus_bits`. `load` (with `address` and ``words_k`` for each) starts a run; ``i_k``
    are the elements. `left`: bit per stream with bytes still to store; `stop` gives up; `busy`: the engine has a job;
    `error`: memory reported one. `aw`, `w`, `b`: AXI4. A reset comes before every run.

    No proof: queues of 128 words are beyond the solver; those and the engines are proven.
    """

    def __init__(self, streams: tuple[StreamSpec, ...], bus_bits: int):
        self.streams, self.bus_bits = streams, bus_bits
        axi = Axi4Signature(data_width=bus_bits).members
        super().__init__({
            **_ports(streams), **{f"i_{k}": In(stream.Signature(s.word.width)) for k, s in enumerate(streams)},
            "aw": axi["aw"], "w": axi["w"], "b": axi["b"],
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.chunks = chunks = ChunkWriter(len(self.streams), self.bus_bits)
        connect(m, chunks.aw, flipped(self.aw))
        connect(m, chunks.w, flipped(self.w))
        connect(m, flipped(self.b), chunks.b)
        _control(m, self, chunks)
        for k, spec in enumerate(self.streams):
            m.submodules[f"join{k}"] = join = Joiner(spec.word.width, spec.word.signed, spec.words,
                                                          self.bus_bits)
            connect(m, flipped(getattr(self, f"i_{k}")), join.i)
            m.d.comb += [
                join.load.eq(self.load), join.words.eq(getattr(self, f"words_{k}")),
                chunks.data[k].eq(join.o.payload), chunks.put[k].eq(join.o.valid), join.o.ready.eq(chunks.room[k]),
            ]
        return m
