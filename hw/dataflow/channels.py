"""Channels: words from the tick in which they are written to the tick in which they are read.

Every channel steps with the kernel (`en`). Sizes are proven by the compiler, so there is no full or empty; `level` is
for observation. Bok 2018, sections 2.5 and 6.2.2; a memory that is written and read in every tick is what Bok 2018
builds from a write-first port, but with the read one address ahead, so that block memories of any kind do it.
"""

from __future__ import annotations

from itertools import pairwise

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.dataflow.spec import Word
from hw.lib.addressed_memory import LUT_MEMORY_WORDS

__all__ = ["DelayLine", "FifoChannel", "ReorderChannel", "ReuseMemory"]

_SHORTEST_MEMORY = 16
"""Delay lines from here on are memories."""


class DelayLine(wiring.Component):
    """`o` is `i` of `ticks` (at least 0) enabled cycles ago; registers if `ticks` is small, else a memory of `ticks`
    words."""

    def __init__(self, word: Word, ticks: int):
        self.word, self.ticks = word, ticks
        super().__init__({"en": In(1), "i": In(word.shape), "o": Out(word.shape)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.ticks < _SHORTEST_MEMORY:
            stages = [self.i, *(Signal(self.word.shape, name=f"stage{k}") for k in range(self.ticks))]
            with m.If(self.en):
                m.d.sync += [after.eq(before) for before, after in pairwise(stages)]
            m.d.comb += self.o.eq(stages[-1])
            return m
        m.submodules.memory = memory = Memory(shape=self.word.shape, depth=self.ticks, init=[])
        writer, reader = memory.write_port(), memory.read_port()
        place, following = Signal(range(self.ticks)), Signal(range(self.ticks))
        m.d.comb += [
            following.eq(Mux(place == self.ticks - 1, 0, place + 1)),
            writer.en.eq(self.en), writer.addr.eq(place), writer.data.eq(self.i),
            reader.en.eq(self.en), reader.addr.eq(following),
            self.o.eq(reader.data),
        ]
        with m.If(self.en):
            m.d.sync += place.eq(following)
        return m


class FifoChannel(wiring.Component):
    """A queue of `depth` (at least 1) words. `push` writes `i` in an enabled cycle; `o` is the oldest word, which `pop`
    drops. At reset `ahead` words are inside that mean nothing.

    A word can be read two enabled cycles after its writing; with a `depth` up to `LUT_MEMORY_WORDS` it is seen after
    one. `level`: words inside; `peak`: the most there have been.
    """

    def __init__(self, word: Word, depth: int, ahead: int = 0):
        self.word, self.depth, self.ahead = word, depth, ahead
        super().__init__({
            "en": In(1), "push": In(1), "pop": In(1), "i": In(word.shape), "o": Out(word.shape),
            "level": Out(range(depth + 1)), "peak": Out(range(depth + 1)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=self.word.shape, depth=self.depth, init=[])
        writer = memory.write_port()
        push, pop = Signal(), Signal()
        level, peak = (Signal(range(self.depth + 1), name=name, init=self.ahead) for name in ("words", "most"))
        m.d.comb += [push.eq(self.push & self.en), pop.eq(self.pop & self.en), self.level.eq(level), self.peak.eq(peak)]
        m.d.comb += [
            writer.en.eq(push), writer.addr.eq(self._pointer(m, push, "tail")[0]), writer.data.eq(self.i),
            self.o.eq(self._read(m, memory, *self._pointer(m, pop, "head", -self.ahead % self.depth))),
        ]
        m.d.sync += level.eq(level + push - pop)
        with m.If(push & ~pop & (level >= peak)):
            m.d.sync += peak.eq(level + 1)
        return m

    def _read(self, m: Module, memory: Memory, now: Signal, after: Signal) -> Value:
        """The word at place `now`: where look-up tables hold it, from there, so that whether the kernel steps is not on
        the way through the memory, too; else what was read at `after` a step before."""
        few = self.depth <= LUT_MEMORY_WORDS
        reader = memory.read_port(domain="comb" if few else "sync")
        m.d.comb += reader.addr.eq(now if few else after)
        if not few:
            m.d.comb += reader.en.eq(self.en)
        return reader.data

    def _pointer(self, m: Module, step: Signal, name: str, start: int = 0) -> tuple[Signal, Signal]:
        """A place in the memory that advances with `step`: its value now and in the next cycle."""
        now = Signal(range(self.depth), name=name, init=start)
        after = Signal(range(self.depth), name=f"{name}_after")
        m.d.comb += after.eq(Mux(step, Mux(now == self.depth - 1, 0, now + 1), now))
        m.d.sync += now.eq(after)
        return now, after


class ReorderChannel(wiring.Component):
    """A memory of `depth` words. `push` writes `i` at `write_address`; `o` is the word at the `read_address` of the
    enabled cycle before. A word can be addressed one enabled cycle after its writing.

    No proof: it keeps no order, its addresses do; the compiler's validation proves these.
    """

    def __init__(self, word: Word, depth: int):
        self.word, self.depth = word, depth
        super().__init__({
            "en": In(1), "push": In(1), "i": In(word.shape), "o": Out(word.shape),
            "write_address": In(range(depth)), "read_address": In(range(depth)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=self.word.shape, depth=self.depth, init=[])
        writer, reader = memory.write_port(), memory.read_port()
        m.d.comb += [
            writer.en.eq(self.push & self.en), writer.addr.eq(self.write_address), writer.data.eq(self.i),
            reader.en.eq(self.en), reader.addr.eq(self.read_address),
            self.o.eq(reader.data),
        ]
        return m


class ReuseMemory(wiring.Component):
    """The seed's reuse buffer (section 6.2.2): one port that writes first.

    In an enabled cycle, `write` puts `i` at `address`; one enabled cycle later `o` is the word there, the new one if it
    was written. `depth` words.
    """

    def __init__(self, word: Word, depth: int):
        self.word, self.depth = word, depth
        super().__init__({"en": In(1), "write": In(1), "address": In(range(depth)), "i": In(word.shape),
                          "o": Out(word.shape)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=self.word.shape, depth=self.depth, init=[])
        writer = memory.write_port()
        reader = memory.read_port(transparent_for=(writer,))
        m.d.comb += [
            writer.en.eq(self.write & self.en), writer.addr.eq(self.address), writer.data.eq(self.i),
            reader.en.eq(self.en), reader.addr.eq(self.address),
            self.o.eq(reader.data),
        ]
        return m
