"""The way of a signal from the tracks around a tile into an input of its core."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.multiplexer import hold, multiplex

__all__ = ["ConnectionBox", "InputStage"]


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


class InputStage(wiring.Component):
    """A register behind a delay line: `i` of cycle c is at `o` in cycle ``c + 1 + delay``, delay 0 to depth - 1.

    Only cycles with `en` count. The delay line is a LUT RAM used as a circular buffer; `slot` is a counter modulo
    `depth` that advances with `en`, one for all stages of a tile. `used` gates everything.
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
        advance = Signal()
        m.d.comb += [
            advance.eq(self.en & self.used),
            write.addr.eq(self.slot),
            write.data.eq(self.i),
            write.en.eq(advance & self.delay.any()),
            read.addr.eq(self.slot - self.delay),
        ]
        m.d.sync += self.o.eq(hold(self.o, advance, Mux(self.delay.any(), read.data, self.i)))
        return m
