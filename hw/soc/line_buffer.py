"""Beats of main memory on their way to the scalar core, which takes them a word at a time."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.dma.axi import Axi4Signature, address_payload, is_error
from hw.soc.errors import SocError
from hw.soc.vexriscv import LINE_BYTES

__all__ = ["REQUEST", "LineBuffer", "line_beats", "memory_bus", "word_bits"]

REQUEST = data.StructLayout({"address": 32, "len": 8})
"""A burst: byte address of its first beat, a multiple of the beat, and AxLEN."""


def memory_bus(beat_bytes: int) -> Axi4Signature:
    """The AXI4 signature of main memory with beats of `beat_bytes` bytes. Raises `SocError`."""
    if beat_bytes not in (4, 8, 16, 32):
        raise SocError(f"main memory of the processor system has beats of 4, 8, 16 or 32 bytes, not {beat_bytes}")
    return Axi4Signature(address_width=32, data_width=8 * beat_bytes)


def line_beats(beat_bytes: int) -> int:
    """Beats of a cache line."""
    return LINE_BYTES // beat_bytes


def word_bits(beat_bytes: int) -> int:
    """Bits of a word's number inside a beat."""
    return (beat_bytes // 4 - 1).bit_length()


class LineBuffer(wiring.Component):
    """Bursts of up to `beats` beats in all, read ahead and kept until they are wanted.

    request: a burst to read, passed on to `ar` in the same cycle. Whoever asks sees to it that the beats of what is
        asked for and not yet released are `beats` at most, so `r` never waits.
    valid, beat, error: the oldest beat that has come, and whether memory refused it. release: go to the next one.
    flush: drop all beats that were asked for before, also those that are still to come; not together with a request.
    idle: nothing is to come.

    No proof: its contract is that of a cache, not of a queue; simulated with every program.
    """

    def __init__(self, beat_bytes: int, beats: int):
        self._beats = beats
        self._beat_bytes = beat_bytes
        members = memory_bus(beat_bytes).members
        super().__init__({
            "request": In(stream.Signature(REQUEST)),
            "ar": members["ar"],
            "r": members["r"],
            "valid": Out(1),
            "beat": Out(8 * beat_bytes),
            "error": Out(1),
            "release": In(1),
            "flush": In(1),
            "idle": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        to_come, to_drop = Signal(8), Signal(8)
        asked = Signal(9)
        keep, drop = Signal(), Signal()
        m.d.comb += [
            self.ar.valid.eq(self.request.valid),
            self.request.ready.eq(self.ar.ready),
            *address_payload(self.ar.p, self.request.p, self._beat_bytes),
            self.r.ready.eq(1),
            drop.eq(self.r.valid & (to_drop != 0)),
            keep.eq(self.r.valid & (to_drop == 0)),
            self.idle.eq((to_come == 0) & (to_drop == 0)),
            asked.eq(Mux(self.request.valid & self.request.ready, self.request.p.len + 1, 0)),
        ]
        with m.If(self.flush):
            m.d.sync += [to_come.eq(0), to_drop.eq(to_drop + to_come - self.r.valid)]
        with m.Else():
            m.d.sync += [to_come.eq(to_come + asked - keep), to_drop.eq(to_drop - drop)]
        self._storage(m, keep)
        return m

    def _storage(self, m: Module, keep: Signal) -> None:
        width = 8 * self._beat_bytes
        m.submodules.storage = storage = Memory(shape=width + 1, depth=max(2, self._beats), init=[])
        write, read = storage.write_port(), storage.read_port(domain="comb")
        first, last = Signal(range(self._beats)), Signal(range(self._beats))
        count = Signal(range(self._beats + 1))
        m.d.comb += [
            write.addr.eq(last),
            write.data[:width].eq(self.r.p.data),
            write.data[width].eq(is_error(self.r.p.resp)),
            write.en.eq(keep),
            read.addr.eq(first),
            self.beat.eq(read.data[:width]),
            self.error.eq(read.data[width]),
            self.valid.eq(count != 0),
        ]
        with m.If(keep):
            m.d.sync += last.eq(last + 1)
        with m.If(self.release):
            m.d.sync += first.eq(first + 1)
        m.d.sync += count.eq(count + keep - self.release)
        with m.If(self.flush):
            m.d.sync += [first.eq(0), last.eq(0), count.eq(0)]
