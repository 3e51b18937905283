"""From the core's instruction bus to main memory, with the lines that follow fetched ahead."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.soc.line_buffer import LineBuffer, line_beats, memory_bus, word_bits
from hw.soc.wishbone import WishboneSignature

__all__ = ["InstructionBus"]

_LINE = 3
"""Bits of a word's number in a line."""


class InstructionBus(wiring.Component):
    """Answers the line refills of the instruction cache from a queue of consecutive lines.

    A program that runs straight on finds its next line already here. A line that is not the next one empties the
    queue. Refused lines count only when the core takes them: what is fetched ahead may lie behind the end of memory.

    bus: the core's. ar, r: read channels of main memory. enable: the core runs; while it is low nothing new is fetched
    and everything is forgotten. stored, stored_line: the core stores into that line (byte address / 32), so a copy
    here would be old; it is fetched again. error: the core took a word that memory refused, or beyond 2 GiB.
    waiting: a word is wanted. idle: no transaction is outstanding. fetched: line that was asked for last.

    No proof: its contract is that of the core's cache, which is not ours; simulated with every program.
    """

    def __init__(self, beat_bytes: int, lines: int | None = None):
        self._beat_bytes = beat_bytes
        # Lines that turn out not to be wanted are in the way of the one that is, the longer the narrower memory is.
        self._lines = lines or (4 if beat_bytes >= 16 else 2)
        members = memory_bus(beat_bytes).members
        super().__init__({
            "bus": In(WishboneSignature()),
            "ar": members["ar"],
            "r": members["r"],
            "enable": In(1),
            "stored": In(1),
            "stored_line": In(27),
            "error": Out(1),
            "waiting": Out(1),
            "idle": Out(1),
            "fetched": Out(27),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beats = line_beats(self._beat_bytes)
        m.submodules.buffer = buffer = LineBuffer(self._beat_bytes, self._lines * beats)
        connect(m, buffer.ar, flipped(self.ar))
        connect(m, flipped(self.r), buffer.r)
        active, line, following = Signal(), Signal(27), Signal(27)
        asking, asked = Signal(), Signal(27)
        wanted, here, restart = Signal(), Signal(), Signal()
        bus = self.bus
        m.d.comb += [
            wanted.eq(bus.cyc & bus.stb & self.enable),
            here.eq(active & (line == bus.adr[_LINE:])),
            restart.eq(wanted & ~here & ~asking),
            buffer.flush.eq(restart | (~self.enable & active & ~asking)),
            buffer.request.valid.eq(asking),
            buffer.request.p.address.eq(asked << 5),
            buffer.request.p.len.eq(beats - 1),
            self.waiting.eq(wanted & ~bus.ack),
            self.idle.eq(buffer.idle & ~asking),
            self.fetched.eq(bus.adr[_LINE:]),
        ]
        with m.If(restart):
            m.d.sync += [active.eq(1), line.eq(bus.adr[_LINE:]), following.eq(bus.adr[_LINE:] + 1),
                         asking.eq(1), asked.eq(bus.adr[_LINE:])]
        with m.Elif(asking):
            m.d.sync += asking.eq(~buffer.request.ready)
        with m.Elif(active & self.enable & ((following - line)[:27] < self._lines) & ~following[-1]):
            m.d.sync += [asking.eq(1), asked.eq(following), following.eq(following + 1)]
        self._answer(m, buffer, wanted & here, line)
        self._forget(m, active, line, asking)
        return m

    def _answer(self, m: Module, buffer: LineBuffer, wanted: Value, line: Signal) -> None:
        bus = self.bus
        low = bus.adr[: word_bits(self._beat_bytes)]
        m.d.comb += [
            bus.ack.eq(wanted & buffer.valid),
            bus.dat_r.eq(buffer.beat.word_select(low, 32) if len(low) else buffer.beat),
            buffer.release.eq(bus.ack & (low.all() if len(low) else Const(1))),
            self.error.eq((bus.ack & buffer.error) | (wanted & line[-1])),
        ]
        with m.If(bus.ack & bus.adr[:_LINE].all()):
            m.d.sync += line.eq(line + 1)

    def _forget(self, m: Module, active: Signal, line: Signal, asking: Signal) -> None:
        """Old copies go between two lines, so that no line is half old and half new."""
        old = Signal()
        with m.If(self.stored & active & ((self.stored_line - line)[:27] < self._lines)):
            m.d.sync += old.eq(1)
        between = (self.bus.adr[:_LINE] == 0) & ~self.bus.ack
        with m.If(old & between & ~asking):
            m.d.sync += [old.eq(0), active.eq(0)]
        with m.If(~self.enable & ~asking):
            m.d.sync += [old.eq(0), active.eq(0)]
