"""The way of a signal from the tracks around a tile to an input of its core."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.lib.multiplexer import multiplex

__all__ = ["INPUT_LATENCY", "ConnectionBox", "DelayLine"]

INPUT_LATENCY = 1
"""Cycles from a track to the core behind the input's register, without extra delay."""


class ConnectionBox(wiring.Component):
    """A multiplexer: `o` is the one of the `count` signals `i` (each `width` bits) that `select` numbers."""

    def __init__(self, width: int, count: int):
        super().__init__(
            {
                "i": In(width).array(count),
                "select": In(range(count)),
                "o": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(multiplex(self.select, self.i))
        return m


class DelayLine(wiring.Component):
    """`i` of cycle c is at `o` in cycle ``c + delay``, delay 0 to depth - 1; the register comes behind it.

    Only cycles with `en` count. The line is a LUT RAM used as a circular buffer; `slot` is a counter modulo `depth`
    that advances with `en`, one for all lines of a tile. While `used` is 0, `o` is 0.
    """

    def __init__(self, width: int, depth: int):
        self.width = width
        self.depth = depth
        super().__init__(
            {
                "en": In(1),
                "slot": In(range(depth)),
                "used": In(1),
                "delay": In(range(depth)),
                "i": In(width),
                "o": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.line = line = Memory(shape=self.width, depth=self.depth, init=[])
        write, read = line.write_port(), line.read_port(domain="comb")
        delayed = Signal()
        m.d.comb += [
            delayed.eq(self.used & self.delay.any()),
            write.addr.eq(self.slot),
            write.data.eq(self.i),
            write.en.eq(self.en & delayed),
            read.addr.eq(self.slot - self.delay),
            self.o.eq(Mux(delayed, read.data, Mux(self.used, self.i, 0))),
        ]
        return m
