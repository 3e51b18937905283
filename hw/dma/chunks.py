"""Chunks of streams between main memory and queues of words: a few streams share one burst engine.

The engine moves chunks of up to `CHUNK_WORDS` words of the memory bus, in turns; a chunk is asked for only when there
is room for all of it, so no stream can block another one. Up to `CHUNKS_UNDER_WAY` are asked for before the first has
come, so that the latency of memory is paid once. Which chunk is next is for others to say: `ChunkChoice`.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.dma.axi import Axi4Signature
from hw.dma.reader import BurstReader
from hw.dma.spec import DmaSpec
from hw.dma.word_queue import WordQueue
from hw.dma.writer import BurstWriter

__all__ = ["BUSES", "CHUNKS_UNDER_WAY", "CHUNK_WORDS", "NEAR_STREAMS", "QUEUE_WORDS", "ChunkChoice", "ChunkReader",
           "ChunkWriter"]

BUSES = (32, 64, 128, 256, 512)
"""Bits of a memory bus."""

CHUNK_WORDS = 16
QUEUE_WORDS = 8 * CHUNK_WORDS
CHUNKS_UNDER_WAY = 8

NEAR_STREAMS = 4
"""Output streams up to which words go from their queues to their lanes of the bus in a cycle; those of more streams
are chosen among in a cycle of its own."""


class ChunkChoice(wiring.Signature):
    """The next chunk of `count` streams, from whom chooses it, on a bus of `bus_bytes`.

    While not `busy`, a stream that has a chunk left and is `able` to move it gets its `turn`, and `go` is high: `from_`
    is the byte address of the chunk, `bytes` its length, and ``words[k]`` the words of the bus in the next chunk of
    stream k. `step`: its job was taken. `left`: bit per stream with chunks left.
    """

    def __init__(self, count: int, bus_bytes: int):
        super().__init__({
            "busy": In(1), "able": In(count), "step": In(1),
            "turn": Out(range(max(2, count))), "go": Out(1), "from_": Out(32),
            "bytes": Out(range(CHUNK_WORDS * bus_bytes + 1)), "left": Out(count),
            "words": Out(range(CHUNK_WORDS + 1)).array(count),
        })


class ChunkReader(wiring.Component):
    """Words of `count` input streams: ``data[k]`` while `valid`, used up by `take`. `choice`: which chunk is next.

    `left`: streams with chunks that have not come; `stop` gives up; `busy`: the engine has a job; `error`: memory
    reported one. `ar`, `r`: AXI4. A reset begins a run.

    No proof: queues of 128 words are beyond the solver; its queues and its engine are proven.
    """

    def __init__(self, count: int, bus_bits: int):
        self.count, self.dma = count, DmaSpec(data_width=bus_bits)
        axi = Axi4Signature(data_width=bus_bits).members
        super().__init__({
            "choice": In(ChunkChoice(count, self.dma.bytes)), "stop": In(1), "busy": Out(1), "error": Out(1),
            "left": Out(count), "data": Out(bus_bits).array(count), "valid": Out(count), "take": In(count),
            "ar": axi["ar"], "r": axi["r"],
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.engine = engine = BurstReader(self.dma, CHUNKS_UNDER_WAY)
        m.submodules.owners = owners = _Owners(self.count)
        connect(m, engine.ar, flipped(self.ar))
        connect(m, flipped(self.r), engine.r)
        _serve(m, self, engine, owners)
        m.d.comb += [
            engine.word.ready.eq(1),  # a chunk was asked for only when its stream had room for it
            owners.pop.eq(engine.word.valid & engine.word.p.last),
        ]
        for k in range(self.count):
            m.submodules[f"queue{k}"] = queue = WordQueue(self.dma.data_width, QUEUE_WORDS)
            used, room = Signal(), Signal(range(QUEUE_WORDS + 1), init=QUEUE_WORDS)
            moved, late = _moved(m, self.choice, k)
            m.d.comb += [
                queue.word.eq(engine.word.p.data), queue.put.eq(engine.word.valid & owners.first[k]),
                self.data[k].eq(queue.data), self.valid[k].eq(queue.valid), queue.take.eq(self.take[k]),
                used.eq(queue.valid & self.take[k]), self.choice.able[k].eq((room >= self.choice.words[k]) & ~late),
                self.left[k].eq(self.choice.left[k] | owners.of[k]),
            ]
            m.d.sync += room.eq(room + used - moved)
        return m


class ChunkWriter(wiring.Component):
    """Words of `count` output streams: ``data[k]`` is stored with `put` if there is `room`. `level`: words that wait.
    `choice`: which chunk is next.

    `left`: streams with chunks that memory has not acknowledged; `stop` gives up; `busy`: the engine has a job;
    `error`: memory reported one. `aw`, `w`, `b`: AXI4. A stream is `left`, too, while memory owes an answer to chunks
    of others that followed its own without a pause. A reset begins a run.

    No proof: queues of 128 words are beyond the solver; its queues and its engine are proven.
    """

    def __init__(self, count: int, bus_bits: int):
        self.count, self.dma = count, DmaSpec(data_width=bus_bits)
        axi = Axi4Signature(data_width=bus_bits).members
        super().__init__({
            "choice": In(ChunkChoice(count, self.dma.bytes)), "stop": In(1), "busy": Out(1), "error": Out(1),
            "left": Out(count), "data": In(bus_bits).array(count), "put": In(count), "room": Out(count),
            "level": Out(range(QUEUE_WORDS + 2)).array(count), "aw": axi["aw"], "w": axi["w"], "b": axi["b"],
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.engine = engine = BurstWriter(self.dma, ahead=True, late=self.count > NEAR_STREAMS)
        m.submodules.owners = owners = _Owners(self.count)
        connect(m, engine.aw, flipped(self.aw))
        connect(m, engine.w, flipped(self.w))
        connect(m, flipped(self.b), engine.b)
        _serve(m, self, engine, owners)
        m.d.comb += owners.pop.eq(engine.sent)
        valid, words = [], []
        for k in range(self.count):
            m.submodules[f"queue{k}"] = queue = WordQueue(self.dma.data_width, QUEUE_WORDS)
            there = Signal(range(QUEUE_WORDS + 2), name=f"there{k}")  # words that belong to no chunk yet
            begun = Signal(name=f"begun{k}")  # a chunk has been asked for since the engine was idle
            moved, late = _moved(m, self.choice, k)
            m.d.comb += [
                queue.word.eq(self.data[k]), queue.put.eq(self.put[k]), self.room[k].eq(queue.room),
                self.level[k].eq(queue.level), self.choice.able[k].eq((there >= self.choice.words[k]) & ~late),
                self.left[k].eq(self.choice.left[k] | (begun & engine.busy)),
            ]
            m.d.sync += there.eq(there + (self.put[k] & queue.room) - moved)
            with m.If(self.choice.step & (self.choice.turn == k)):
                m.d.sync += begun.eq(1)
            with m.Elif(~engine.busy):
                m.d.sync += begun.eq(0)
            first = owners.some & owners.first[k]
            m.d.comb += queue.take.eq(first & engine.word.ready)
            valid.append(first & queue.valid)
            words.append(Mux(owners.first[k], queue.data, 0))
        m.d.comb += [engine.word.valid.eq(Cat(valid).any()), engine.word.payload.eq(reduce(or_, words))]
        return m


class _Owners(wiring.Component):
    """Streams of the chunks that are under way, in order, up to `CHUNKS_UNDER_WAY`. `push` adds `stream` if there is
    `room`; bit k of `first` says that the oldest chunk is one of stream k, if there are `some`, two cycles after it was
    added at the earliest and from registers; `pop` drops it. `of`: bit per stream with any.
    """

    def __init__(self, count: int):
        self.count = count
        super().__init__({"push": In(1), "stream": In(range(max(2, count))), "room": Out(1), "some": Out(1),
                          "first": Out(count), "pop": In(1), "of": Out(count)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue = queue = SyncFIFOBuffered(width=self.count, depth=CHUNKS_UNDER_WAY)
        m.d.comb += [
            queue.w_data.eq(1 << self.stream), queue.w_en.eq(self.push), self.room.eq(queue.w_rdy),
            self.first.eq(queue.r_data), self.some.eq(queue.r_rdy), queue.r_en.eq(self.pop),
        ]
        for k in range(self.count):
            under_way = Signal(range(CHUNKS_UNDER_WAY + 1), name=f"under_way{k}")
            m.d.sync += under_way.eq(under_way + (self.push & (self.stream == k)) - (self.pop & self.first[k]))
            m.d.comb += self.of[k].eq(under_way != 0)
        return m


def _moved(m: Module, choice: Any, k: int) -> tuple[Value, Signal]:
    """Words of the chunk of stream k whose job was taken in the cycle before, 0 if none was; and whether one was. What
    follows from taking a job is in time for the next chunk of the stream, and no path goes through both."""
    words, late = Signal(range(CHUNK_WORDS + 1), name=f"moved{k}"), Signal(name=f"late{k}")
    m.d.sync += [words.eq(choice.words[k]), late.eq(choice.step & (choice.turn == k))]
    return Mux(late, words, 0), late


def _serve(m: Module, port: ChunkReader | ChunkWriter, engine: BurstReader | BurstWriter, owners: _Owners) -> None:
    """Between the choice of chunks and the engine."""
    choice = port.choice
    m.d.comb += [
        choice.busy.eq(port.stop | ~owners.room),
        engine.job.valid.eq(choice.go), choice.step.eq(choice.go & engine.job.ready),
        owners.push.eq(choice.step), owners.stream.eq(choice.turn),
        engine.job.p.address.eq(choice.from_), engine.job.p.row_bytes.eq(choice.bytes),
        engine.job.p.rows.eq(1), engine.job.p.planes.eq(1),
        engine.stop.eq(port.stop), port.busy.eq(engine.busy), port.error.eq(engine.error),
    ]
