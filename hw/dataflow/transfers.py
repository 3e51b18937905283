"""Streams of elements from and to main memory: a few queues share one burst engine.

Every stream is one run of consecutive bytes in memory. The engines move it in chunks of up to `CHUNK_BYTES`, in turns;
a chunk is asked for only when there is room for all of it, so no stream can block another one.
"""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Member, Out, connect, flipped

from hw.dataflow.registers import element_bytes
from hw.dataflow.spec import StreamSpec
from hw.dma.axi import Axi4Signature
from hw.dma.reader import BurstReader
from hw.dma.register_slice import Skid
from hw.dma.spec import DmaSpec
from hw.dma.word_queue import WordQueue
from hw.dma.writer import BurstWriter

__all__ = ["CHUNK_BYTES", "Joiner", "Splitter", "StreamReader", "StreamWriter"]

BUS_BITS = 64
BUS_BYTES = BUS_BITS // 8
CHUNK_BYTES = 256
CHUNK_WORDS = CHUNK_BYTES // BUS_BYTES
QUEUE_WORDS = 2 * CHUNK_WORDS


class Splitter(wiring.Component):
    """Memory words of 64 bits into elements of `width` bits, the lowest one first; an element per cycle."""

    def __init__(self, width: int):
        self.width = width
        super().__init__({"i": In(stream.Signature(BUS_BITS)), "o": Out(stream.Signature(width))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = 8 * element_bytes(self.width)
        count = BUS_BITS // size
        place, held = Signal(range(count + 1)), Signal(BUS_BITS)
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
    """Elements of `width` bits (extended by their sign if `signed`) into memory words of 64 bits; what is left of the
    last one is zero. An element per cycle. `load` starts a run of `words` elements, up to `most`."""

    def __init__(self, width: int, signed: bool, most: int):
        self.width, self.signed, self.most = width, signed, most
        super().__init__({"load": In(1), "words": In(range(most + 1)), "i": In(stream.Signature(width)),
                          "o": Out(stream.Signature(BUS_BITS))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = 8 * element_bytes(self.width)
        count = BUS_BITS // size
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
    """Whose turn it is, and what of each stream is left to move.

    `load` starts all streams at their `address`, with ``bytes0`` ... to move, up to `most`. While not `busy` the turn
    goes round, a stream per cycle; one that has bytes left and is `able` to move its `chunk` keeps it, and `go` is
    high. `step`: the chunk's job was taken. Choosing and going are a cycle apart, so paths stay short whatever the
    number of streams.
    """

    def __init__(self, most: list[int]):
        self.most = most
        count = len(most)
        super().__init__({
            "load": In(1), "busy": In(1), "able": In(count), "step": In(1),
            **{f"bytes{k}": In(range(n + 1)) for k, n in enumerate(most)},
            "address": In(32).array(count), "turn": Out(range(count)), "go": Out(1), "from_": Out(32),
            "chunk": Out(range(CHUNK_BYTES + 1)), "left": Out(count),
            "bytes_left": Out(range(max(most) + 1)).array(count),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        places = [Signal(32, name=f"place{k}") for k in range(len(self.most))]
        following, chosen = Signal.like(self.turn), Signal()
        place, rest, able = Signal(32), Signal.like(self.bytes_left[0]), Signal()
        kept = Signal.like(rest)
        with m.Switch(following):
            for k in range(len(self.most)):
                with m.Case(k):
                    m.d.comb += [place.eq(places[k]), rest.eq(self.bytes_left[k]),
                                 able.eq(self.able[k] & self.left[k])]
        m.d.comb += [self.go.eq(chosen & ~self.busy),
                     *(self.left[k].eq(self.bytes_left[k] != 0) for k in range(len(self.most)))]
        with m.If(~self.busy & ~chosen):
            m.d.sync += [
                self.turn.eq(following), self.from_.eq(place), kept.eq(rest), chosen.eq(able),
                self.chunk.eq(Mux(rest > CHUNK_BYTES, CHUNK_BYTES, rest)),
                following.eq(Mux(following == len(self.most) - 1, 0, following + 1)),
            ]
        with m.If(self.step):
            m.d.sync += chosen.eq(0)
            with m.Switch(self.turn):
                for k in range(len(self.most)):
                    with m.Case(k):
                        m.d.sync += [places[k].eq(self.from_ + self.chunk), self.bytes_left[k].eq(kept - self.chunk)]
        with m.If(self.load):
            m.d.sync += [chosen.eq(0), following.eq(0)]
            for k, start in enumerate(places):
                m.d.sync += [start.eq(self.address[k]), self.bytes_left[k].eq(getattr(self, f"bytes{k}"))]
        return m


def _ports(streams: tuple[StreamSpec, ...]) -> dict[str, Member]:
    """What both directions have: control, and address and length (in words) of every stream."""
    return {
        "load": In(1), "stop": In(1), "busy": Out(1), "error": Out(1), "left": Out(len(streams)),
        "address": In(32).array(len(streams)),
        **{f"words_{k}": In(range(s.words + 1)) for k, s in enumerate(streams)},
    }


class _StreamEngine(wiring.Component):
    """Streams of one direction: their queues, `_turns` and the burst `_engine` that they share."""

    streams: tuple[StreamSpec, ...]
    _engine: BurstReader | BurstWriter

    def elaborate(self, platform: object) -> Module:
        m = Module()
        engine = m.submodules.engine = self._engine
        m.submodules.turns = turns = self._turns = _Turns([s.words * element_bytes(s.word.width) for s in self.streams])
        m.d.comb += [
            turns.load.eq(self.load), turns.busy.eq(engine.busy | self.stop),
            engine.job.valid.eq(turns.go), turns.step.eq(turns.go & engine.job.ready),
            engine.job.p.address.eq(turns.from_), engine.job.p.row_bytes.eq(turns.chunk),
            engine.job.p.rows.eq(1), engine.job.p.planes.eq(1),
            self.busy.eq(engine.busy), self.error.eq(engine.error),
        ]
        m.d.sync += engine.stop.eq(self.stop)  # turns see it at once, so no job begins meanwhile
        for k, spec in enumerate(self.streams):
            m.submodules[f"queue{k}"] = queue = WordQueue(BUS_BITS, QUEUE_WORDS)
            size = element_bytes(spec.word.width)
            # The turn stays with a chunk until it is moved.
            m.d.comb += [self.left[k].eq(turns.left[k] | (engine.busy & (turns.turn == k))),
                         turns.address[k].eq(self.address[k]),
                         getattr(turns, f"bytes{k}").eq(getattr(self, f"words_{k}") * size)]
            self._stream(m, k, spec, queue)
        return m

    def _stream(self, m: Module, k: int, spec: StreamSpec, queue: WordQueue) -> None:
        """Between the engine, the queue and stream number k."""
        raise NotImplementedError


class StreamReader(_StreamEngine):
    """Input streams. `load` (with `address` and ``words_k`` for each) starts a run; ``o_k`` are the elements. `left`:
    bit per stream with bytes that have not come; `stop` gives up; `busy`: the engine has a job; `error`: memory
    reported one. `ar`, `r`: AXI4.

    No proof: queues of 64 words and bursts of 256 bytes are beyond the solver; its queues and its engine are
    proven.
    """

    def __init__(self, streams: tuple[StreamSpec, ...]):
        self.streams = streams
        axi = Axi4Signature(data_width=BUS_BITS).members
        super().__init__({
            **_ports(streams), **{f"o_{k}": Out(stream.Signature(s.word.width)) for k, s in enumerate(streams)},
            "ar": axi["ar"], "r": axi["r"],
        })

    def elaborate(self, platform: object) -> Module:
        self._engine = BurstReader(DmaSpec(data_width=BUS_BITS))
        m = super().elaborate(platform)
        connect(m, self._engine.ar, flipped(self.ar))
        connect(m, flipped(self.r), self._engine.r)
        # There is room for all of a chunk when it is asked for.
        m.d.comb += self._engine.word.ready.eq(1)
        return m

    def _stream(self, m: Module, k: int, spec: StreamSpec, queue: WordQueue) -> None:
        m.submodules[f"split{k}"] = split = Splitter(spec.word.width)
        mine, word = self._turns.turn == k, self._engine.word
        m.d.comb += [
            self._turns.able[k].eq(queue.level <= QUEUE_WORDS - CHUNK_WORDS),
            queue.word.eq(word.p.data), queue.put.eq(word.valid & mine),
            split.i.payload.eq(queue.data), split.i.valid.eq(queue.valid), queue.take.eq(split.i.ready),
        ]
        connect(m, split.o, flipped(getattr(self, f"o_{k}")))


class _ChunkWords(wiring.Component):
    """The words of a chunk, behind a register slice between the queues' block RAM and the engine; latency one cycle.

    `begin` with `bytes` starts a chunk, when all words of the one before are out (or were given up, which ends the
    run). `i`, `o`: streams of words; nothing is taken from `i` that is not the chunk's.
    """

    def __init__(self) -> None:
        super().__init__({"begin": In(1), "bytes": In(range(CHUNK_BYTES + 1)),
                          "i": In(stream.Signature(BUS_BITS)), "o": Out(stream.Signature(BUS_BITS))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.slice = slice_ = Skid(BUS_BITS)
        left, some = Signal(range(CHUNK_WORDS + 1)), Signal()  # some: left is not 0
        connect(m, slice_.o, flipped(self.o))
        m.d.comb += [slice_.i.payload.eq(self.i.payload), slice_.i.valid.eq(self.i.valid & some),
                     self.i.ready.eq(slice_.i.ready & some)]
        with m.If(self.begin):
            m.d.sync += [left.eq((self.bytes + BUS_BYTES - 1) // BUS_BYTES), some.eq(1)]
        with m.Elif(self.i.valid & self.i.ready):
            m.d.sync += [left.eq(left - 1), some.eq(left != 1)]
        return m


class StreamWriter(_StreamEngine):
    """Output streams. `load` (with `address` and ``words_k`` for each) starts a run; ``i_k`` are the elements. `left`:
    bit per stream with bytes still to store; `stop` gives up; `busy`: the engine has a job; `error`: memory reported
    one. `aw`, `w`, `b`: AXI4.

    No proof: queues of 64 words and bursts of 256 bytes are beyond the solver; its queues and its engine are
    proven.
    """

    def __init__(self, streams: tuple[StreamSpec, ...]):
        self.streams = streams
        axi = Axi4Signature(data_width=BUS_BITS).members
        super().__init__({
            **_ports(streams), **{f"i_{k}": In(stream.Signature(s.word.width)) for k, s in enumerate(streams)},
            "aw": axi["aw"], "w": axi["w"], "b": axi["b"],
        })

    def elaborate(self, platform: object) -> Module:
        self._engine = BurstWriter(DmaSpec(data_width=BUS_BITS))
        self._chunk = _ChunkWords()
        m = super().elaborate(platform)
        m.submodules.chunk = self._chunk
        connect(m, self._chunk.o, self._engine.word)
        m.d.comb += [self._chunk.begin.eq(self._turns.step), self._chunk.bytes.eq(self._turns.chunk)]
        connect(m, self._engine.aw, flipped(self.aw))
        connect(m, self._engine.w, flipped(self.w))
        connect(m, flipped(self.b), self._engine.b)
        return m

    def _stream(self, m: Module, k: int, spec: StreamSpec, queue: WordQueue) -> None:
        m.submodules[f"join{k}"] = join = Joiner(spec.word.width, spec.word.signed, spec.words)
        connect(m, flipped(getattr(self, f"i_{k}")), join.i)
        there = queue.level * BUS_BYTES
        m.d.comb += [
            join.load.eq(self.load), join.words.eq(getattr(self, f"words_{k}")),
            self._turns.able[k].eq((queue.level >= CHUNK_WORDS) | (self._turns.bytes_left[k] <= there)),
            queue.word.eq(join.o.payload), queue.put.eq(join.o.valid), join.o.ready.eq(queue.room),
        ]
        word = self._chunk.i
        with m.If(self._turns.turn == k):
            m.d.comb += [word.payload.eq(queue.data), word.valid.eq(queue.valid), queue.take.eq(word.ready)]
