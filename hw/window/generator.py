"""Window generators: words from memory, row by row side by side, into columns of shift registers (Hammes 2000, sections
7.1.3 and 7.4.1).

No row is kept: each sweep along the last dimension reads all words of the rows that its windows stand on, one word of
each row in turn. What hides memory are a queue of words and, for each row, the word after the one in use.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import fifo, wiring
from amaranth.lib.wiring import In, Out

from hw.window.ports import RequestPort
from hw.window.spec import WORD, Windows, element_bits
from hw.window.walker import AddressWalker

__all__ = ["WindowGenerator"]

_QUEUE = 16  # words, the least that a distributed memory has


@dataclass(frozen=True)
class _Flow:
    """What the stages tell each other: there is a following word of each row (`full`), and they become the words in use
    (`swap`), which are or become `empty`; these have a `column`, which goes into the window (`shift`)."""

    full: Signal = field(default_factory=lambda: Signal(name="full"))
    swap: Signal = field(default_factory=lambda: Signal(name="swap"))
    empty: Signal = field(default_factory=lambda: Signal(name="empty"))
    column: Signal = field(default_factory=lambda: Signal(name="has_column"))
    shift: Signal = field(default_factory=lambda: Signal(name="shift"))


class WindowGenerator(wiring.Component):
    """The windows of `spec`, one per cycle if its last step is 1 and memory keeps up, else one in as many as the step.

    `start`: for one cycle, with `address`, `extents` and `loop` (extents of the loop, of its dimensions that the spec
    has steps for) as they stay. Loops are not empty. `memory`: words to read; `arrives`: `word` has come. If `valid`,
    `elements` are those of a window, the last dimension fastest; `take` goes on. All outputs are registers.
    """

    def __init__(self, spec: Windows, address_bits: int, count_bits: int):
        self.spec, self.bits = spec, (address_bits, count_bits)
        self.depth = spec.rows, spec.sizes[-1]
        running = sum(step > 0 for step in spec.steps)
        super().__init__({
            "start": In(1), "address": In(address_bits), "extents": In(count_bits).array(len(spec.sizes)),
            "loop": In(count_bits).array(max(1, running)), "memory": Out(RequestPort(address_bits, writes=False)),
            "arrives": In(1), "word": In(WORD), "valid": Out(1), "take": In(1),
            "elements": Out(spec.width).array(spec.rows * spec.sizes[-1])})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue = queue = fifo.SyncFIFO(width=WORD, depth=_QUEUE)
        m.d.comb += [queue.w_data.eq(self.word), queue.w_en.eq(self.arrives)]
        self._fetch(m, queue.w_level)
        flow = _Flow()
        following = self._align(m, queue, flow)
        self._slide(m, self._unpack(m, following, flow), flow)
        return m

    def _loop_count(self, dimension: int) -> Value | int:
        """Windows along a dimension."""
        if not self.spec.steps[dimension]:
            return 1
        return self.loop[sum(step > 0 for step in self.spec.steps[:dimension])]

    def _fetch(self, m: Module, level: Value) -> None:
        """Ask for words as long as there is room for them: rows of a window innermost, then words, then sweeps."""
        address_bits, count_bits = self.bits
        each = WORD // element_bits(self.spec.width)
        words = Signal(count_bits)
        m.d.sync += words.eq((self.extents[-1] + (each - 1)) // each)
        strides = self._row_strides(m, words)
        outer = list(reversed(range(len(self.spec.sizes) - 1)))
        scaled = [Signal(address_bits, name=f"step{d}") for d in outer]
        m.d.sync += [s.eq(strides[d] * self.spec.steps[d]) for s, d in zip(scaled, outer, strict=True)]
        loops = [*((self.spec.sizes[d], strides[d]) for d in outer), (words, 1),
                 *((self._loop_count(d), step) for d, step in zip(outer, scaled, strict=True))]
        levels = [loop for loop in loops if not isinstance(loop[0], int) or loop[0] != 1]
        m.submodules.walker = walker = AddressWalker(len(levels), address_bits, count_bits)
        for k, (count, stride) in enumerate(levels):
            m.d.comb += [walker.counts[k].eq(count), walker.strides[k].eq(stride)]
        waiting = Signal()  # a word comes in this cycle
        m.d.sync += waiting.eq(self.memory.valid & self.memory.ready)
        m.d.comb += [walker.start.eq(self.start), walker.origin.eq(self.address),
                     self.memory.address.eq(walker.address),
                     self.memory.valid.eq(walker.left & (level + waiting < _QUEUE)),
                     walker.step.eq(self.memory.valid & self.memory.ready)]

    def _row_strides(self, m: Module, words: Signal) -> dict[int, Signal]:
        """Words from row to row along each dimension but the last. Constant some cycles after the extents are, one for
        each dimension."""
        strides = {}
        inner: Value = words
        for d in reversed(range(len(self.spec.sizes) - 1)):
            strides[d] = Signal(self.bits[0], name=f"stride{d}")
            m.d.sync += strides[d].eq(inner)
            inner = strides[d] * self.extents[d]
        return strides

    def _align(self, m: Module, queue: fifo.SyncFIFO, flow: _Flow) -> list[Signal]:
        """One word of each row, which all go on together when those in use are `empty`."""
        rows = self.depth[0]
        words = [Signal(WORD, name=f"following{r}") for r in range(rows)]
        held = Signal(range(rows + 1))
        m.d.comb += [flow.full.eq(held == rows), flow.swap.eq(flow.full & flow.empty),
                     queue.r_en.eq(~flow.full | flow.empty)]
        arrived = queue.r_en & queue.r_rdy
        with m.If(arrived):
            m.d.sync += words[-1].eq(queue.r_data)
            m.d.sync += [word.eq(later) for word, later in pairwise(words)]
        m.d.sync += held.eq(Mux(flow.swap, 0, held) + arrived)
        return words

    def _unpack(self, m: Module, following: list[Signal], flow: _Flow) -> list[Signal]:
        """The words in use, whose first elements are the next column; counts of elements in them and in the row."""
        element = element_bits(self.spec.width)
        each = WORD // element
        words = [Signal(WORD, name=f"current{r}") for r in range(self.depth[0])]
        left, rest = Signal(range(each + 1)), Signal(self.bits[1])
        m.d.comb += [flow.column.eq(left != 0), flow.empty.eq((left == 0) | (flow.shift & (left == 1)))]
        with m.If(flow.shift):
            m.d.sync += [word.eq(word >> element) for word in words] + [left.eq(left - 1)]
        with m.If(flow.swap):
            m.d.sync += [word.eq(later) for word, later in zip(words, following, strict=True)]
            m.d.sync += [left.eq(Mux(rest <= each, rest, each)),
                         rest.eq(Mux(rest <= each, self.extents[-1], rest - each))]
        with m.If(self.start):
            m.d.sync += rest.eq(self.extents[-1])
        return words

    def _slide(self, m: Module, words: list[Signal], flow: _Flow) -> None:
        """Columns into the window; `valid` where a window is complete and its place one that counts."""
        columns = self.depth[1]
        width, step = self.spec.width, max(1, self.spec.steps[-1])
        until, column, issued = Signal(range(max(columns, step) + 1)), Signal(self.bits[1]), Signal(self.bits[1])
        shift = flow.shift
        m.d.comb += shift.eq(flow.column & (~self.valid | self.take))
        complete = (until == 0) & (issued != self._loop_count(len(self.spec.sizes) - 1))
        with m.If(shift):
            for r, word in enumerate(words):
                row = self.elements[r * columns:(r + 1) * columns]
                m.d.sync += [place.eq(later) for place, later in pairwise(row)] + [row[-1].eq(word[:width])]
            m.d.sync += [column.eq(column - 1), until.eq(Mux(until == 0, step - 1, until - 1)),
                         issued.eq(issued + complete)]
        with m.If(self.start | (shift & (column == 1))):
            m.d.sync += [column.eq(self.extents[-1]), until.eq(columns - 1), issued.eq(0)]
        with m.If(shift | self.take):
            m.d.sync += self.valid.eq(shift & complete)
