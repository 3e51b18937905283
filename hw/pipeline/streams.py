"""Words of arrays in main memory to and from a pipeline, any box of an array in any order of its rows.

The streams of one direction share a burst engine (`hw.dma.chunks`), which moves their chunks in turns.
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
from hw.dma.chunks import CHUNK_WORDS, QUEUE_WORDS, ChunkChoice, ChunkReader, ChunkWriter
from hw.pipeline.spec import Level, PipelineError, Walk, Word
from hw.pipeline.walker import Walker

__all__ = ["ArrayReader", "ArrayStream", "ArrayWriter"]

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

    @property
    def extent(self) -> int:
        """Bytes from the stream's address to behind the last element."""
        last = self.offset + sum((count - 1) * max(stride, 0) for count, stride in self.levels)
        return last + self.row_bytes

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
    """Chooses chunks: the turn goes round the streams, whose rows walkers step through. `load` starts all streams at
    their `address`. A stream goes a cycle after it is able to, so that no path is through both."""

    def __init__(self, streams: Sequence[ArrayStream], bus_bytes: int):
        self.streams, self.chunk = streams, CHUNK_WORDS * bus_bytes
        count = len(streams)
        super().__init__({"load": In(1), "address": In(32).array(count), "choice": Out(ChunkChoice(count, bus_bytes))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        choice = self.choice
        able = Signal(len(self.streams))  # in the cycle before, and nothing has gone since
        for k in range(len(self.streams)):
            m.d.sync += able[k].eq(choice.able[k] & ~(choice.step & (choice.turn == k)))
        with m.Switch(choice.turn):
            for k, stream in enumerate(self.streams):
                m.submodules[f"chunks{k}"] = walker = Walker(stream.chunks(self.chunk))
                rest = (stream.row_bytes - 1) % self.chunk + 1
                inside = stream.row_bytes > self.chunk
                ends = walker.last[0] if inside else Const(1)  # the next chunk ends a row
                words = (stream.words(self.chunk // CHUNK_WORDS) - 1) % CHUNK_WORDS + 1
                m.d.comb += [
                    walker.start.eq(self.load), choice.left[k].eq(walker.left),
                    choice.words[k].eq(Mux(ends, words, CHUNK_WORDS)),
                ]
                with m.Case(k):
                    m.d.comb += [
                        choice.from_.eq(self.address[k] + walker.address),
                        choice.bytes.eq(Mux(ends, rest, self.chunk)),
                        choice.go.eq(walker.fire & able[k] & ~choice.busy), walker.en.eq(choice.step),
                    ]
        with m.If(~choice.busy & (~choice.go | choice.step)):
            m.d.sync += choice.turn.eq(Mux(choice.turn == len(self.streams) - 1, 0, choice.turn + 1))
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

    No proof: queues of 128 words are beyond the solver; those and the engines are proven.
    """

    def __init__(self, streams: Sequence[ArrayStream], bus_bits: int):
        self.streams, self.bus_bits = streams, bus_bits
        axi = Axi4Signature(data_width=bus_bits).members
        super().__init__({
            "load": In(1), "stop": In(1), "busy": Out(1), "error": Out(1), "left": Out(len(streams)), "ok": Out(1),
            "address": In(32).array(len(streams)), "take": In(len(streams)),
            **{f"o_{k}": Out(stream.word.shape) for k, stream in enumerate(streams)}, "ar": axi["ar"], "r": axi["r"],
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.chunks = chunks = ChunkReader(len(self.streams), self.bus_bits)
        connect(m, chunks.ar, flipped(self.ar))
        connect(m, flipped(self.r), chunks.r)
        _control(m, self, chunks)
        splitters = []
        for k, stream in enumerate(self.streams):
            m.submodules[f"split{k}"] = split = _Splitter(stream, self.bus_bits)
            m.d.comb += [
                split.load.eq(self.load), split.data.eq(chunks.data[k]), split.valid.eq(chunks.valid[k]),
                chunks.take[k].eq(split.ready), split.take.eq(self.take[k]),
                getattr(self, f"o_{k}").eq(split.element),
            ]
            splitters.append(split)
        m.d.comb += self.ok.eq(Cat(split.ok for split in splitters).all())
        return m


class ArrayWriter(wiring.Component):
    """Output streams. `load` (with `address[k]` for each) starts a run; ``i_k`` is given in cycles with ``give[k]``.
    `ok`: whatever is given in this cycle, there is room for a word of every stream in the next. `left`: streams with
    chunks that memory has not acknowledged; `stop` gives up; `busy`: the engine has a job; `error`: memory reported
    one. `aw`, `w`, `b`: AXI4. A stream is `left`, too, while memory owes an answer to chunks of others that
    followed its own without a pause.

    No proof: queues of 128 words are beyond the solver; those and the engines are proven.
    """

    def __init__(self, streams: Sequence[ArrayStream], bus_bits: int):
        self.streams, self.bus_bits = streams, bus_bits
        axi = Axi4Signature(data_width=bus_bits).members
        super().__init__({
            "load": In(1), "stop": In(1), "busy": Out(1), "error": Out(1), "left": Out(len(streams)), "ok": Out(1),
            "address": In(32).array(len(streams)), "give": In(len(streams)),
            **{f"i_{k}": In(stream.word.shape) for k, stream in enumerate(streams)},
            "aw": axi["aw"], "w": axi["w"], "b": axi["b"],
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.chunks = chunks = ChunkWriter(len(self.streams), self.bus_bits)
        connect(m, chunks.aw, flipped(self.aw))
        connect(m, chunks.w, flipped(self.w))
        connect(m, flipped(self.b), chunks.b)
        _control(m, self, chunks)
        rooms = []
        for k, stream in enumerate(self.streams):
            m.submodules[f"join{k}"] = join = _Joiner(stream, self.bus_bits)
            m.d.comb += [
                join.load.eq(self.load), join.element.eq(getattr(self, f"i_{k}")), join.give.eq(self.give[k]),
                chunks.data[k].eq(join.data), chunks.put[k].eq(join.valid),
            ]
            # One word may be on its way from the joiner, and one more may be given in this cycle and in the next.
            rooms.append(chunks.level[k] <= QUEUE_WORDS - 3)
        m.d.comb += self.ok.eq(Cat(rooms).all())
        return m


def _control(m: Module, port: ArrayReader | ArrayWriter, chunks: ChunkReader | ChunkWriter) -> None:
    """The choice of chunks, and what the host sees."""
    m.submodules.turns = turns = _Turns(port.streams, port.bus_bits // 8)
    connect(m, turns.choice, chunks.choice)
    m.d.comb += [
        turns.load.eq(port.load), chunks.stop.eq(port.stop), port.busy.eq(chunks.busy), port.error.eq(chunks.error),
        port.left.eq(chunks.left), *(turns.address[k].eq(port.address[k]) for k in range(len(port.streams))),
    ]
