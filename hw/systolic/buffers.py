"""What stands between neighbours: small queues."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.dma.word_queue import BlockQueue
from hw.lib.taps import Taps

__all__ = ["LUT_RAM_WORDS", "LateQueue", "Queue", "StepQueue", "SumQueue", "late_places", "step_queue"]

LUT_RAM_WORDS = 64
"""Memories up to this depth are read in the same cycle, as LUT RAM is; deeper ones a cycle later, as block RAM is."""

_STEPS = 4
"""Steps that wait between neighbours at most."""


class StepQueue(wiring.Component):
    """Up to four steps between neighbours; latency one cycle, a word per cycle.

    `i.ready` is a register with nothing but another register in front of it, so that it can stand beside the PE that
    looks at it, and the way back from the neighbour takes a cycle of its own: it tells that there was room for two
    more. With four places nobody waits for it who would not have waited in a register slice
    (`hw.dma.register_slice.Skid`).

    Ports: `i`, `o` (streams of `shape`).
    """

    def __init__(self, shape: Any):
        self._shape = shape
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=Value.cast(self.i.payload).shape(), depth=_STEPS, init=[])
        writer, reader = memory.write_port(), memory.read_port(domain="comb")
        head, valid = Signal(self._shape, name="head", reset_less=True), Signal()
        ready, push, several, many = Signal(init=1), Signal(), Signal(), Signal()  # at least two steps; at least three
        second = Signal(range(_STEPS), init=1)  # where the step after `head` is
        places = Signal(range(_STEPS))  # of steps, that of `head` included; 0 if all are taken
        m.d.comb += [
            push.eq(self.i.valid & ready), self.i.ready.eq(ready), self.o.valid.eq(valid), self.o.payload.eq(head),
            writer.en.eq(1), writer.data.eq(self.i.payload), places.eq(writer.addr - second + 1),
            reader.addr.eq(second), several.eq(valid & (places != 1)), many.eq(several & (places != 2)),
        ]
        m.d.sync += [
            writer.addr.eq(writer.addr + push), ready.eq(~many), valid.eq(push | several | (valid & ~self.o.ready)),
        ]
        with m.If(~valid | self.o.ready):
            m.d.sync += Value.cast(head).eq(Mux(several, reader.data, Value.cast(self.i.payload)))
        with m.If(valid & self.o.ready):
            m.d.sync += second.eq(second + 1)
        return m


class LateQueue(wiring.Component):
    """Steps between neighbours that arrive `delay` cycles later than through a `StepQueue`, in whose place it stands;
    with as many places more, so that still nobody waits. `i.ready` is a register, which knows of what has been taken a
    cycle later.

    Ports: `i`, `o` (streams of `shape`).
    """

    def __init__(self, shape: Any, delay: int):
        self._delay, self._places = delay, late_places(delay)
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=Value.cast(self.i.payload).shape(), depth=self._places, init=[])
        writer, reader = memory.write_port(), memory.read_port(domain="comb")
        taken, there = (Signal(range(self._places + 1), name=name) for name in ("taken", "there"))
        push, pop, ready, several = Signal(), Signal(), Signal(init=1), Signal()
        come = Taps(m, Value.cast(1)).delayed(push, self._delay, "come")
        m.d.comb += [
            push.eq(self.i.valid & ready), pop.eq(self.o.valid & self.o.ready), self.i.ready.eq(ready),
            writer.en.eq(push), writer.data.eq(self.i.payload), Value.cast(self.o.payload).eq(reader.data),
            several.eq(there > 1),
        ]
        m.d.sync += [
            writer.addr.eq(writer.addr + push), reader.addr.eq(reader.addr + pop),
            taken.eq(taken + push - pop), ready.eq(taken + push < self._places),
            there.eq(there + come - pop), self.o.valid.eq(come | several | (self.o.valid & ~self.o.ready)),
        ]
        return m


def step_queue(shape: Any, delay: int) -> StepQueue | LateQueue:
    """The queue between neighbours that are `delay` cycles farther apart than one."""
    return LateQueue(shape, delay) if delay else StepQueue(shape)


def late_places(delay: int) -> int:
    """Places of a queue whose words arrive `delay` cycles late: a power of two."""
    return 1 << (_STEPS + delay - 1).bit_length()


class SumQueue(wiring.Component):
    """Partial results between a PE and its neighbour; words come and go without asking.

    The neighbour takes a word for each step in which it follows, and it is never more than the steps behind that wait
    in the `step_queue` with the same `delay` between them, so there is always room and always a word (`push` and
    `data`, `pop` and `head`).
    """

    def __init__(self, bits: int, delay: int = 0):
        self._bits, self._depth = bits, 2 * late_places(delay)
        super().__init__({"push": In(1), "data": In(bits), "pop": In(1), "head": Out(bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # There are more places than are ever taken, so the next one is free and is written in every cycle: no handshake
        # has to reach the memory.
        m.submodules.memory = memory = Memory(shape=self._bits, depth=self._depth, init=[])
        writer, reader = memory.write_port(), memory.read_port(domain="comb")
        m.d.comb += [writer.en.eq(1), writer.data.eq(self.data), self.head.eq(reader.data)]
        m.d.sync += [writer.addr.eq(writer.addr + self.push), reader.addr.eq(reader.addr + self.pop)]
        return m


class Queue(wiring.Component):
    """Up to `depth` words. `push` with `data` when the owner knows that there is room; `o` is a stream.

    A word comes out one cycle after it was pushed, two from depths above `LUT_RAM_WORDS` on.
    """

    def __init__(self, bits: int, depth: int):
        self._bits, self._depth = bits, depth
        super().__init__({"push": In(1), "data": In(bits), "o": Out(stream.Signature(bits))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._depth == 1:
            with m.If(self.o.ready):
                m.d.sync += self.o.valid.eq(0)
            with m.If(self.push):
                m.d.sync += [self.o.valid.eq(1), self.o.payload.eq(self.data)]
            return m
        kind = LutQueue if self._depth <= LUT_RAM_WORDS else BlockQueue
        m.submodules.fifo = fifo = kind(width=self._bits, depth=1 << (self._depth - 1).bit_length())
        m.d.comb += [
            fifo.w_data.eq(self.data), fifo.w_en.eq(self.push), self.o.payload.eq(fifo.r_data),
            self.o.valid.eq(fifo.r_rdy), fifo.r_en.eq(self.o.ready),
        ]
        return m


class LutQueue(wiring.Component):
    """`depth` words, a power of two, of `width` bits in LUT RAM. Ports as of `hw.dma.word_queue.BlockQueue`, but the
    owner knows that there is room. A word comes out one cycle after it went in; whether there is one is a register."""

    def __init__(self, width: int, depth: int):
        self.width, self.depth = width, depth
        super().__init__({"w_data": In(width), "w_en": In(1), "r_data": Out(width), "r_rdy": Out(1), "r_en": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=self.width, depth=self.depth, init=[])
        writer, reader = memory.write_port(), memory.read_port(domain="comb")
        level, several, pop = Signal(range(self.depth + 1)), Signal(), Signal()
        m.d.comb += [
            writer.en.eq(self.w_en), writer.data.eq(self.w_data), self.r_data.eq(reader.data),
            several.eq(level > 1), pop.eq(self.r_rdy & self.r_en),
        ]
        m.d.sync += [
            writer.addr.eq(writer.addr + self.w_en), reader.addr.eq(reader.addr + pop),
            level.eq(level + self.w_en - pop),
            self.r_rdy.eq(self.w_en | several | (self.r_rdy & ~self.r_en)),
        ]
        return m
