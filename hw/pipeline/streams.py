"""Words of arrays in main memory to and from a pipeline, any box of an array in any order of its rows.

A few streams share one burst engine. It moves chunks of up to `CHUNK_WORDS` words of the memory bus, in turns; a chunk
is asked for only when there is room for all of it, so no stream can block another one. Up to `CHUNKS_UNDER_WAY` are
asked for before the first has come, so that the latency of memory is paid once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.dataflow.registers import element_bytes
from hw.dma.axi import Axi4Signature
from hw.dma.reader import BurstReader
from hw.dma.spec import DmaSpec
from hw.dma.word_queue import WordQueue
from hw.dma.writer import BurstWriter
from hw.pipeline.spec import Level, PipelineError, Walk, Word
from hw.pipeline.walker import Walker

__all__ = ["CHUNKS_UNDER_WAY", "CHUNK_WORDS", "QUEUE_WORDS", "ArrayReader", "ArrayStream", "ArrayWriter"]

CHUNK_WORDS = 16
QUEUE_WORDS = 8 * CHUNK_WORDS
CHUNKS_UNDER_WAY = 8
_ADDRESSES = 1 << 32


@dataclass(frozen=True)
class ArrayStream:
    """The elements of a stream in memory: rows of `row` consecutive elements of type `word`, each a power of two of
    bytes (`hw.dataflow.registers.element_bytes`). The first row starts at `offset` bytes from the stream's address,
    the others as `levels` say: (count, stride in bytes), innermost first."""

    name: str
    word: Word
    row: int
    levels: tuple[tuple[int, int], ...] = ()
    offset: int = 0

    def __post_init__(self) -> None:
        if self.row < 1 or any(count < 2 for count, _ in self.levels):
            raise PipelineError(f"stream {self.name} has a row of {self.row} elements in loops {self.levels}")

    @property
    def element_bytes(self) -> int:
        """Bytes of an element."""
        return element_bytes(self.word.width)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return self.row * self.element_bytes

    @property
    def rows(self) -> int:
        """Number of rows."""
        return prod(count for count, _ in self.levels)

    @cached_property
    def addresses(self) -> tuple[int, ...]:
        """Byte of the first element of each row, in order, from the stream's address."""
        rows = [self.offset]
        for count, stride in self.levels:
            rows = [first + k * stride for k in range(count) for first in rows]
        return tuple(rows)

    def chunks(self, chunk_bytes: int) -> Walk:
        """Where the chunks begin: an event for each; the innermost loop is that inside a row, if there is one."""
        pieces = -(-self.row_bytes // chunk_bytes)
        levels, rewind = [], 0
        for count, stride in ([(pieces, chunk_bytes)] if pieces > 1 else []) + list(self.levels):
            levels.append(Level(count, 1, ((stride - rewind) % _ADDRESSES,)))
            rewind += (count - 1) * stride
        return Walk(0, tuple(levels), _ADDRESSES, self.offset % _ADDRESSES)

    def words(self, bus_bytes: int) -> int:
        """Words of the bus in a row, the last one perhaps not full."""
        return -(-self.row_bytes // bus_bytes)


class _Turns(wiring.Component):
    """Whose turn it is, and which chunk is next.

    `load` starts all streams at their `address`. Unless `busy`, the turn goes round; a stream that has a chunk left and
    is `able` to move it keeps the turn, and `go` is high: `from_` is where it begins, `bytes` how long it is, and
    ``words[k]`` how many words of the bus that is in stream k. `step`: its job was taken. `left`: bit per stream with
    chunks left.
    """

    def __init__(self, streams: Sequence[ArrayStream], bus_bytes: int):
        self.streams, self.chunk = streams, CHUNK_WORDS * bus_bytes
        count = len(streams)
        super().__init__({
            "load": In(1), "busy": In(1), "able": In(count), "step": In(1), "address": In(32).array(count),
            "turn": Out(range(max(2, count))), "go": Out(1), "from_": Out(32), "bytes": Out(range(self.chunk + 1)),
            "left": Out(count), "words": Out(range(CHUNK_WORDS + 1)).array(count),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with m.Switch(self.turn):
            for k, stream in enumerate(self.streams):
                m.submodules[f"chunks{k}"] = walker = Walker(stream.chunks(self.chunk))
                rest = (stream.row_bytes - 1) % self.chunk + 1
                inside = stream.row_bytes > self.chunk
                ends = walker.last[0] if inside else Const(1)  # the next chunk ends a row
                words = (stream.words(self.chunk // CHUNK_WORDS) - 1) % CHUNK_WORDS + 1
                m.d.comb += [
                    walker.start.eq(self.load), self.left[k].eq(walker.left),
                    self.words[k].eq(Mux(ends, words, CHUNK_WORDS)),
                ]
                with m.Case(k):
                    m.d.comb += [
                        self.from_.eq(self.address[k] + walker.address),
                        self.bytes.eq(Mux(ends, rest, self.chunk)),
                        self.go.eq(walker.fire & self.able[k] & ~self.busy), walker.en.eq(self.step),
                    ]
        with m.If(~self.busy & (~self.go | self.step)):
            m.d.sync += self.turn.eq(Mux(self.turn == len(self.streams) - 1, 0, self.turn + 1))
        return m


class _Splitter(wiring.Component):
    """Words of the bus, which come from a queue (`data`, `valid`, `ready`), into elements, the lowest one first.

    `element` is the next one, used up by `take`. `ok`: there is one in this cycle and, whether or not it is taken, in
    the next; or the stream has ended. `load` begins a run.
    """

    def __init__(self, stream: ArrayStream, bus_bits: int):
        self.stream, self.bus_bits = stream, bus_bits
        super().__init__({
            "load": In(1), "data": In(bus_bits), "valid": In(1), "ready": Out(1),
            "element": Out(stream.word.shape), "take": In(1), "ok": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        stream, size = self.stream, 8 * self.stream.element_bytes
        count = self.bus_bits // size
        place, held = Signal(range(count + 1)), Signal(self.bus_bits)
        coming = Signal(range(stream.words(self.bus_bits // 8) * stream.rows + 1))  # words to come
        taken = Signal()
        m.d.comb += [
            self.element.eq(held), self.ready.eq((place == 0) | ((place == 1) & self.take)),
            taken.eq(self.valid & self.ready), self.ok.eq((place > 1) | self.valid | (coming == 0)),
        ]
        with m.If(taken):
            m.d.sync += [held.eq(self.data), place.eq(self._elements(m, taken, count)), coming.eq(coming - 1)]
        with m.Elif(self.take):
            m.d.sync += [held.eq(held >> size), place.eq(place - 1)]
        with m.If(self.load):
            m.d.sync += [place.eq(0), coming.eq(stream.words(self.bus_bits // 8) * stream.rows)]
        return m

    def _elements(self, m: Module, taken: Value, count: int) -> Value:
        """Elements in the next word: fewer in the last one of a row, if rows are no whole number of words."""
        rest = self.stream.row % count
        if not rest or not self.stream.levels:
            return Const(count)
        words = self.stream.words(self.bus_bits // 8)
        place = Signal(range(words))
        with m.If(self.load):
            m.d.sync += place.eq(0)
        with m.Elif(taken):
            m.d.sync += place.eq(Mux(place == words - 1, 0, place + 1))
        return Mux(place == words - 1, rest, count)


class _Joiner(wiring.Component):
    """Elements, one whenever `give`, into words of the bus for a queue (`data`, `valid`); a row ends with its word,
    whose rest is anything. `load` begins a run."""

    def __init__(self, stream: ArrayStream, bus_bits: int):
        self.stream, self.bus_bits = stream, bus_bits
        super().__init__({
            "load": In(1), "element": In(stream.word.shape), "give": In(1), "data": Out(bus_bits), "valid": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = 8 * self.stream.element_bytes
        count = self.bus_bits // size
        place, left = Signal(range(count)), Signal(range(self.stream.row), init=self.stream.row - 1)
        element, full = Signal(size), Signal()
        m.d.comb += [element.eq(self.element), full.eq((place == count - 1) | (left == 0))]
        m.d.sync += self.valid.eq(self.give & full)
        with m.If(self.give):
            m.d.sync += [
                self.data.word_select(place, size).eq(element), place.eq(Mux(full, 0, place + 1)),
                left.eq(Mux(left == 0, self.stream.row - 1, left - 1)),
            ]
        with m.If(self.load):
            m.d.sync += [place.eq(0), left.eq(self.stream.row - 1)]
        return m


class ArrayReader(wiring.Component):
    """Input streams. `load` (with `address[k]` for each) starts a run; ``o_k`` is the next element, used up in a cycle
    with ``take[k]``. `ok`: whatever is taken in this cycle, every stream has an element in the next. `left`: streams
    with chunks that have not come; `stop` gives up; `busy`: the engine has a job; `error`: memory reported one. `ar`,
    `r`: AXI4.

    No proof: queues of 128 words are beyond the solver; its queues and its engine are proven.
    """

    def __init__(self, streams: Sequence[ArrayStream], bus_bits: int):
        self.streams, self.dma = streams, DmaSpec(data_width=bus_bits)
        axi = Axi4Signature(data_width=bus_bits).members
        super().__init__({
            "load": In(1), "stop": In(1), "busy": Out(1), "error": Out(1), "left": Out(len(streams)), "ok": Out(1),
            "address": In(32).array(len(streams)), "take": In(len(streams)),
            **{f"o_{k}": Out(stream.word.shape) for k, stream in enumerate(streams)}, "ar": axi["ar"], "r": axi["r"],
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = self.dma.data_width
        m.submodules.engine = engine = BurstReader(self.dma, CHUNKS_UNDER_WAY)
        m.submodules.turns = turns = _Turns(self.streams, self.dma.bytes)
        m.submodules.owners = owners = _Owners(len(self.streams))
        connect(m, engine.ar, flipped(self.ar))
        connect(m, flipped(self.r), engine.r)
        _serve(m, self, engine, turns, owners)
        m.d.comb += [
            engine.word.ready.eq(1),  # a chunk was asked for only when its stream had room for it
            owners.pop.eq(engine.word.valid & engine.word.p.last),
        ]
        splitters = []
        for k, stream in enumerate(self.streams):
            m.submodules[f"queue{k}"] = queue = WordQueue(bits, QUEUE_WORDS)
            m.submodules[f"split{k}"] = split = _Splitter(stream, bits)
            used, room = Signal(), Signal(range(QUEUE_WORDS + 1), init=QUEUE_WORDS)
            m.d.comb += [
                queue.word.eq(engine.word.p.data), queue.put.eq(engine.word.valid & (owners.first == k)),
                split.load.eq(self.load), split.data.eq(queue.data), split.valid.eq(queue.valid),
                queue.take.eq(split.ready), split.take.eq(self.take[k]), getattr(self, f"o_{k}").eq(split.element),
                used.eq(queue.valid & split.ready), turns.able[k].eq(room >= turns.words[k]),
            ]
            asked = Mux(turns.step & (turns.turn == k), turns.words[k], 0)
            m.d.sync += room.eq(room + used - asked)
            splitters.append(split)
        m.d.comb += self.ok.eq(Cat(split.ok for split in splitters).all())
        return m


class ArrayWriter(wiring.Component):
    """Output streams. `load` (with `address[k]` for each) starts a run; ``i_k`` is given in cycles with ``give[k]``.
    `ok`: whatever is given in this cycle, there is room for a word of every stream in the next. `left`: streams with
    chunks that memory has not acknowledged; `stop` gives up; `busy`: the engine has a job; `error`: memory reported
    one. `aw`, `w`, `b`: AXI4. A stream is `left`, too, while memory owes an answer to chunks of others that
    followed its own without a pause.

    No proof: queues of 128 words are beyond the solver; its queues and its engine are proven.
    """

    def __init__(self, streams: Sequence[ArrayStream], bus_bits: int):
        self.streams, self.dma = streams, DmaSpec(data_width=bus_bits)
        axi = Axi4Signature(data_width=bus_bits).members
        super().__init__({
            "load": In(1), "stop": In(1), "busy": Out(1), "error": Out(1), "left": Out(len(streams)), "ok": Out(1),
            "address": In(32).array(len(streams)), "give": In(len(streams)),
            **{f"i_{k}": In(stream.word.shape) for k, stream in enumerate(streams)},
            "aw": axi["aw"], "w": axi["w"], "b": axi["b"],
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = self.dma.data_width
        m.submodules.engine = engine = BurstWriter(self.dma, ahead=True)
        m.submodules.turns = turns = _Turns(self.streams, self.dma.bytes)
        m.submodules.owners = owners = _Owners(len(self.streams))
        connect(m, engine.aw, flipped(self.aw))
        connect(m, engine.w, flipped(self.w))
        connect(m, flipped(self.b), engine.b)
        _serve(m, self, engine, turns, owners)
        m.d.comb += owners.pop.eq(engine.sent)
        rooms = []
        for k, stream in enumerate(self.streams):
            m.submodules[f"queue{k}"] = queue = WordQueue(bits, QUEUE_WORDS)
            m.submodules[f"join{k}"] = join = _Joiner(stream, bits)
            there = Signal(range(QUEUE_WORDS + 2))  # words in the queue that belong to no chunk yet
            gone = Mux(turns.step & (turns.turn == k), turns.words[k], 0)
            m.d.comb += [
                join.load.eq(self.load), join.element.eq(getattr(self, f"i_{k}")), join.give.eq(self.give[k]),
                queue.word.eq(join.data), queue.put.eq(join.valid), turns.able[k].eq(there >= turns.words[k]),
            ]
            m.d.sync += there.eq(there + join.valid - gone)
            # One word may be on its way from the joiner, and one more may be given in this cycle and in the next.
            rooms.append(queue.level <= QUEUE_WORDS - 3)
            with m.If(owners.some & (owners.first == k)):
                m.d.comb += [engine.word.payload.eq(queue.data), engine.word.valid.eq(queue.valid),
                             queue.take.eq(engine.word.ready)]
        m.d.comb += self.ok.eq(Cat(rooms).all())
        return m


class _Owners(wiring.Component):
    """Streams of the chunks that are under way, in order, up to `CHUNKS_UNDER_WAY`. `push` adds `stream` if there is
    `room`; `first` is that of the oldest chunk, if there are `some`; `pop` drops it. `of`: bit per stream with any.
    """

    def __init__(self, count: int):
        self.count = count
        number = range(max(2, count))
        super().__init__({"push": In(1), "stream": In(number), "room": Out(1), "some": Out(1), "first": Out(number),
                          "pop": In(1), "of": Out(count)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue = queue = SyncFIFO(width=len(self.stream), depth=CHUNKS_UNDER_WAY)
        m.d.comb += [
            queue.w_data.eq(self.stream), queue.w_en.eq(self.push), self.room.eq(queue.w_rdy),
            self.first.eq(queue.r_data), self.some.eq(queue.r_rdy), queue.r_en.eq(self.pop),
        ]
        for k in range(self.count):
            under_way = Signal(range(CHUNKS_UNDER_WAY + 1), name=f"under_way{k}")
            m.d.sync += under_way.eq(under_way + (self.push & (self.stream == k)) - (self.pop & (self.first == k)))
            m.d.comb += self.of[k].eq(under_way != 0)
        return m


def _serve(m: Module, port: ArrayReader | ArrayWriter, engine: BurstReader | BurstWriter, turns: _Turns,
           owners: _Owners) -> None:
    """Between the streams' turns and the engine."""
    m.d.comb += [
        turns.load.eq(port.load), turns.busy.eq(port.stop | ~owners.room),
        engine.job.valid.eq(turns.go), turns.step.eq(turns.go & engine.job.ready),
        owners.push.eq(turns.step), owners.stream.eq(turns.turn),
        engine.job.p.address.eq(turns.from_), engine.job.p.row_bytes.eq(turns.bytes),
        engine.job.p.rows.eq(1), engine.job.p.planes.eq(1),
        engine.stop.eq(port.stop), port.busy.eq(engine.busy), port.error.eq(engine.error),
    ]
    for k in range(len(port.streams)):
        begun = Signal(name=f"begun{k}")  # a chunk has been asked for since the engine was idle
        with m.If(turns.step & (turns.turn == k)):
            m.d.sync += begun.eq(1)
        with m.Elif(~engine.busy):
            m.d.sync += begun.eq(0)
        m.d.comb += port.left[k].eq(turns.left[k] | (owners.of[k] if isinstance(port, ArrayReader)
                                                         else begun & engine.busy))
        m.d.comb += turns.address[k].eq(port.address[k])
