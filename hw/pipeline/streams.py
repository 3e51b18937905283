"""Words of arrays in main memory to and from a pipeline, any box of an array in any order of its rows.

A few streams share one burst engine. It moves chunks of up to `CHUNK_WORDS` words of the memory bus, in turns; a chunk
is asked for only when there is room for all of it, so no stream can block another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.dataflow.registers import element_bytes
from hw.dma.axi import Axi4Signature
from hw.dma.reader import BurstReader
from hw.dma.spec import DmaSpec
from hw.dma.word_queue import WordQueue
from hw.dma.writer import BurstWriter
from hw.pipeline.spec import Level, PipelineError, Walk, Word
from hw.pipeline.walker import Walker

__all__ = ["CHUNK_WORDS", "ArrayReader", "ArrayStream", "ArrayWriter"]

CHUNK_WORDS = 64
QUEUE_WORDS = 2 * CHUNK_WORDS
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

    `load` starts all streams at their `address`. While not `busy` the turn goes round; a stream that has a chunk left
    and is `able` to move it keeps the turn, and `go` is high: `from_` is where it begins, `bytes` how long it is.
    `step`: its job was taken. `left`: bit per stream with chunks left; `short`: its next chunk ends a row.
    """

    def __init__(self, streams: Sequence[ArrayStream], bus_bytes: int):
        self.streams, self.chunk = streams, CHUNK_WORDS * bus_bytes
        count = len(streams)
        super().__init__({
            "load": In(1), "busy": In(1), "able": In(count), "step": In(1), "address": In(32).array(count),
            "turn": Out(range(max(2, count))), "go": Out(1), "from_": Out(32), "bytes": Out(range(self.chunk + 1)),
            "left": Out(count), "short": Out(count),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with m.Switch(self.turn):
            for k, stream in enumerate(self.streams):
                m.submodules[f"chunks{k}"] = walker = Walker(stream.chunks(self.chunk))
                rest = (stream.row_bytes - 1) % self.chunk + 1
                inside = stream.row_bytes > self.chunk
                m.d.comb += [
                    walker.start.eq(self.load), self.left[k].eq(walker.left),
                    self.short[k].eq(walker.last[0] if inside else 1),
                ]
                with m.Case(k):
                    m.d.comb += [
                        self.from_.eq(self.address[k] + walker.address),
                        self.bytes.eq(Mux(self.short[k], rest, self.chunk)),
                        self.go.eq(walker.fire & self.able[k] & ~self.busy), walker.en.eq(self.step),
                    ]
        with m.If(~self.busy & ~self.go):
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

    No proof: queues of 128 words and chunks of 64 are beyond the solver; its queues and its engine are proven.
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
        m.submodules.engine = engine = BurstReader(self.dma)
        m.submodules.turns = turns = _Turns(self.streams, self.dma.bytes)
        connect(m, engine.ar, flipped(self.ar))
        connect(m, flipped(self.r), engine.r)
        _serve(m, self, engine, turns)
        splitters = []
        for k, stream in enumerate(self.streams):
            m.submodules[f"queue{k}"] = queue = WordQueue(bits, QUEUE_WORDS)
            m.submodules[f"split{k}"] = split = _Splitter(stream, bits)
            mine = turns.turn == k
            m.d.comb += [
                queue.word.eq(engine.word.p.data), queue.put.eq(engine.word.valid & mine),
                split.load.eq(self.load), split.data.eq(queue.data), split.valid.eq(queue.valid),
                queue.take.eq(split.ready), split.take.eq(self.take[k]), getattr(self, f"o_{k}").eq(split.element),
            ]
            # A cycle old, so a word that comes with the end of a chunk may be missing: the register has room for it.
            m.d.sync += turns.able[k].eq(queue.level <= QUEUE_WORDS - CHUNK_WORDS)
            with m.If(mine):
                m.d.comb += engine.word.ready.eq(queue.room)
            splitters.append(split)
        m.d.comb += self.ok.eq(Cat(split.ok for split in splitters).all())
        return m


class ArrayWriter(wiring.Component):
    """Output streams. `load` (with `address[k]` for each) starts a run; ``i_k`` is given in cycles with ``give[k]``.
    `ok`: whatever is given in this cycle, there is room for a word of every stream in the next. `left`: streams with
    chunks that memory has not acknowledged; `stop` gives up; `busy`: the engine has a job; `error`: memory reported
    one. `aw`, `w`, `b`: AXI4.

    No proof: queues of 128 words and chunks of 64 are beyond the solver; its queues and its engine are proven.
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
        m.submodules.engine = engine = BurstWriter(self.dma)
        m.submodules.turns = turns = _Turns(self.streams, self.dma.bytes)
        connect(m, engine.aw, flipped(self.aw))
        connect(m, engine.w, flipped(self.w))
        connect(m, flipped(self.b), engine.b)
        _serve(m, self, engine, turns)
        rooms = []
        for k, stream in enumerate(self.streams):
            m.submodules[f"queue{k}"] = queue = WordQueue(bits, QUEUE_WORDS)
            m.submodules[f"join{k}"] = join = _Joiner(stream, bits)
            rest = (stream.words(self.dma.bytes) - 1) % CHUNK_WORDS + 1
            m.d.comb += [
                join.load.eq(self.load), join.element.eq(getattr(self, f"i_{k}")), join.give.eq(self.give[k]),
                queue.word.eq(join.data), queue.put.eq(join.valid),
            ]
            # A cycle old: the engine is busy for longer than that after it has taken its last word.
            m.d.sync += turns.able[k].eq(queue.level >= Mux(turns.short[k], rest, CHUNK_WORDS))
            # One word may be on its way from the joiner, and one more may be given in this cycle and in the next.
            rooms.append(queue.level <= QUEUE_WORDS - 3)
            with m.If(turns.turn == k):
                m.d.comb += [engine.word.payload.eq(queue.data), engine.word.valid.eq(queue.valid),
                             queue.take.eq(engine.word.ready)]
        m.d.comb += self.ok.eq(Cat(rooms).all())
        return m


def _serve(m: Module, port: ArrayReader | ArrayWriter, engine: BurstReader | BurstWriter, turns: _Turns) -> None:
    """Between the streams' turns and the engine."""
    m.d.comb += [
        turns.load.eq(port.load), turns.busy.eq(engine.busy | port.stop),
        engine.job.valid.eq(turns.go), turns.step.eq(turns.go & engine.job.ready),
        engine.job.p.address.eq(turns.from_), engine.job.p.row_bytes.eq(turns.bytes),
        engine.job.p.rows.eq(1), engine.job.p.planes.eq(1),
        engine.stop.eq(port.stop), port.busy.eq(engine.busy), port.error.eq(engine.error),
    ]
    for k in range(len(port.streams)):
        # The turn stays with a chunk until it is moved.
        m.d.comb += port.left[k].eq(turns.left[k] | (engine.busy & (turns.turn == k)))
        m.d.comb += turns.address[k].eq(port.address[k])
