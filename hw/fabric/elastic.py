"""Parts of the ready-valid interconnect: what stands where the static one has registers and delay lines.

A token moves from one part to the next in a cycle in which it is there (`valid`) and all who take it have room. Room is
known from state alone, so a fork can wait until all its branches have room, and no path leads from one fork to the
next. Liu 2023, section 6.2.
"""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Member, Out

from hw.lib.multiplexer import hold

__all__ = ["Queue", "Relay"]


def _ports(width: int) -> dict[str, Member]:
    """Ports of both parts; see `Relay`."""
    return {
        "en": In(1),
        "restart": In(1),
        "i": In(width),
        "push": In(1),
        "room": Out(1),
        "o": Out(width),
        "valid": Out(1),
        "pop": In(1),
    }


class Relay(wiring.Component):
    """A register with ready and valid: two places, a token per cycle, one cycle.

    Ports: `en`: a cycle happens; `restart`: forget all tokens, whatever `en` is. `push` with `i` (`width` bits), only
    while there is `room`; `valid`, `o`: the oldest token, which goes with `pop`, only while `valid`.
    """

    def __init__(self, width: int):
        self.width = width
        super().__init__(_ports(width))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        full, second = Signal(), Signal(self.width)
        shift = self.en & (self.pop | ~self.valid)
        some = self.push | (self.valid & (full | ~self.pop))
        m.d.comb += self.room.eq(~full)
        m.d.sync += [
            self.o.eq(hold(self.o, shift, Mux(full, second, self.i))),
            second.eq(hold(second, self.en & self.push, self.i)),
            self.valid.eq(Mux(self.restart, 0, hold(self.valid, self.en, some))),
            full.eq(Mux(self.restart, 0, hold(full, self.en, self.valid & ~self.pop & (full | self.push)))),
        ]
        return m


class Queue(wiring.Component):
    """The input of a core: up to `depth` tokens in LUT RAM, a power of two, and a way past it while it is empty.

    Ports: as for `Relay`, but a token that is pushed is `valid` in the same cycle if it is the only one. After
    `restart` it holds `tokens` tokens (0 to depth - 1), which carry no value that means anything.
    """

    def __init__(self, width: int, depth: int):
        self.width, self.depth = width, depth
        super().__init__({**_ports(width), "tokens": In(range(depth))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.line = line = Memory(shape=self.width, depth=self.depth, init=[])
        write, read = line.write_port(), line.read_port(domain="comb")
        first, last = Signal(range(self.depth)), Signal(range(self.depth))
        count = Signal(range(self.depth + 1))
        m.d.comb += [
            self.room.eq(~count[-1]),
            self.valid.eq(count.any() | self.push),
            write.addr.eq(last),
            write.data.eq(self.i),
            write.en.eq(self.en & self.push),
            read.addr.eq(first),
            self.o.eq(Mux(count.any(), read.data, self.i)),
        ]
        m.d.sync += [
            first.eq(Mux(self.restart, 0, hold(first, self.en, first + self.pop))),
            last.eq(Mux(self.restart, self.tokens, hold(last, self.en, last + self.push))),
            count.eq(Mux(self.restart, self.tokens, hold(count, self.en, count + self.push - self.pop))),
        ]
        return m
