"""Programs of the ideal dispatcher on their way from main memory into its own memory."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.soc.line_buffer import LineBuffer, line_beats, memory_bus
from hw.vector_lanes.isa import ENTRY

__all__ = ["ENTRY_BYTES", "EntryLoader", "entry_bits"]

ENTRY_BYTES = 32
"""An entry in main memory: eight words (`hw.vector_lanes.isa.Entry.pack`)."""

_LINES = 4
_WORDS = (("code", 0, 17), ("control", 31, 1), ("a", 32, 32), ("b", 64, 32), ("d", 96, 32), ("c", 128, 32))
"""Field of an entry, its lowest bit in the eight words, its width."""


def entry_bits(words: Value) -> Value:
    """The fields of an entry in the order of `ENTRY`, from a 256-bit value."""
    found = {name: words[low : low + width] for name, low, width in _WORDS}
    return Cat(found[name] for name in ENTRY.members)


class EntryLoader(wiring.Component):
    """Reads `count` entries from byte address `address` (a multiple of 32) on.

    start: pulse. valid, index, entry: one after the other. done: all have come, or memory refused something (error),
    and no transaction is outstanding; until the next start.

    No proof: it takes entries of 32 bytes in order of their number; simulated with every program of the dispatcher.
    """

    def __init__(self, beat_bytes: int, index_bits: int):
        self._beat_bytes = beat_bytes
        members = memory_bus(beat_bytes).members
        super().__init__({
            "start": In(1),
            "address": In(32),
            "count": In(index_bits + 1),
            "valid": Out(1),
            "index": Out(index_bits),
            "entry": Out(ENTRY),
            "done": Out(1),
            "error": Out(1),
            "ar": members["ar"],
            "r": members["r"],
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beats = line_beats(self._beat_bytes)
        m.submodules.buffer = buffer = LineBuffer(self._beat_bytes, _LINES * beats)
        connect(m, buffer.ar, flipped(self.ar))
        connect(m, flipped(self.r), buffer.r)
        asked, taken, waiting = Signal.like(self.count), Signal.like(self.count), Signal(range(_LINES + 1))
        place = Signal(range(max(2, beats)))
        busy = Signal()
        step, line = Signal(), Signal()
        m.d.comb += [
            buffer.request.valid.eq(busy & (asked != self.count) & (waiting != _LINES)),
            buffer.request.p.address.eq(self.address + (asked << 5)),
            buffer.request.p.len.eq(beats - 1),
            step.eq(busy & buffer.valid),
            line.eq(step & (place == beats - 1)),
            buffer.release.eq(step),
            self.done.eq(~busy),
            self.index.eq(taken),
        ]
        request = buffer.request.valid & buffer.request.ready
        m.d.sync += [asked.eq(asked + request), taken.eq(taken + line), waiting.eq(waiting + request - line)]
        with m.If(step):
            m.d.sync += [place.eq(place + 1), self.error.eq(self.error | buffer.error)]
        with m.If(line):
            m.d.sync += place.eq(0)
        with m.If(taken == self.count):
            m.d.sync += busy.eq(0)
        with m.If(self.start):
            m.d.sync += [busy.eq(1), asked.eq(0), taken.eq(0), self.error.eq(0)]
        self._assemble(m, buffer, beats, step, line)
        return m

    def _assemble(self, m: Module, buffer: LineBuffer, beats: int, step: Signal, line: Signal) -> None:
        """The beats before the last one of an entry wait in a shift register."""
        width = 8 * self._beat_bytes
        before = Signal(max(1, 256 - width))
        words = Cat(before, buffer.beat) if beats > 1 else buffer.beat
        if beats > 1:
            with m.If(step):
                m.d.sync += before.eq(words[width:])
        m.d.comb += [self.valid.eq(line), self.entry.as_value().eq(entry_bits(words))]
