"""Loads a configuration image from memory into the array."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.dma.spec import ROW_BYTES_BITS, TILE_JOB, DmaSpec
from hw.fabric.bus import BusSignature
from hw.fabric.image import FRAME_WORDS, MAGIC
from hw.fabric.status import RunError

__all__ = ["ConfigurationLoader"]

WORD_BITS = 32
WORD_BYTES = 4

MAX_WORDS = 1 << (ROW_BYTES_BITS - 2)
"""An image is one row for the reader."""


class ConfigurationLoader(wiring.Component):
    """Reads an image (`hw.fabric.image`) and puts its pairs on the configuration bus, one per cycle at most.

    Ports: `start` with `address` (byte address) and `words` (length of the image in 32-bit words), both to be held
    until `done`; `busy` after `start`; `done` in its last cycle, with `error` (a `RunError`). `cfg`: the bus.
    `job`, `word`, `read_done`, `stop`: to a `BurstReader` on a 64-bit bus. `done` of the reader without a last word
    means that memory reported an error.

    Words are in the array before the checksum is known: after an error it has to be cleared.
    """

    def __init__(self) -> None:
        super().__init__({
            "start": In(1),
            "address": In(WORD_BITS),
            "words": In(WORD_BITS),
            "busy": Out(1),
            "done": Out(1),
            "error": Out(RunError),
            "cfg": Out(BusSignature()),
            "job": Out(stream.Signature(TILE_JOB)),
            "word": In(stream.Signature(DmaSpec().word)),
            "read_done": In(1),
            "stop": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        low, high = self.word.p.data[:WORD_BITS], self.word.p.data[WORD_BITS:]
        total = Signal(WORD_BITS)
        m.d.comb += [
            self.job.p.address.eq(self.address),
            self.job.p.row_bytes.eq(self.words * WORD_BYTES),
            self.job.p.rows.eq(1),
            self.job.p.planes.eq(1),
            self.cfg.address.eq(low),
            self.cfg.data.eq(high),
        ]
        with m.If(self.start):
            m.d.sync += total.eq(0)
        with m.Elif(self.word.valid & self.word.ready):
            m.d.sync += total.eq(_accumulate(_accumulate(total, low), high))
        self._sequence(m, low, high, total)
        return m

    def _sequence(self, m: Module, low: Value, high: Value, total: Value) -> None:
        fault = Signal(RunError)
        with m.FSM() as sequence:
            m.d.comb += self.busy.eq(~sequence.ongoing("IDLE"))
            with m.State("IDLE"):
                with m.If(self.start):
                    m.next = "REQUEST"
            with m.State("REQUEST"):
                self._request(m)
            with m.State("HEADER"):
                self._header(m, fault, low, high)
            with m.State("PAIRS"):
                self._pairs(m, low, total)
            with m.State("STOP"):
                m.d.comb += self.stop.eq(1)
                with m.If(self.read_done):
                    self._end(m, fault)

    def _end(self, m: Module, error: Value | RunError) -> None:
        m.d.comb += [self.done.eq(1), self.error.eq(error)]
        m.next = "IDLE"

    def _request(self, m: Module) -> None:
        with m.If((self.words < FRAME_WORDS) | (self.words >= MAX_WORDS)):
            self._end(m, RunError.CONFIGURATION_COUNT)
        with m.Else():
            m.d.comb += self.job.valid.eq(1)
            with m.If(self.job.ready):
                m.next = "HEADER"

    def _header(self, m: Module, fault: Signal, magic: Value, count: Value) -> None:
        m.d.comb += self.word.ready.eq(1)
        with m.If(self.read_done):
            self._end(m, RunError.READ_RESPONSE)
        with m.Elif(self.word.valid):
            with m.If(magic != MAGIC):
                m.d.sync += fault.eq(RunError.CONFIGURATION_MAGIC)
                m.next = "STOP"
            with m.Elif((count << 1) + FRAME_WORDS != self.words):
                m.d.sync += fault.eq(RunError.CONFIGURATION_COUNT)
                m.next = "STOP"
            with m.Else():
                m.next = "PAIRS"

    def _pairs(self, m: Module, low: Value, total: Value) -> None:
        m.d.comb += self.word.ready.eq(1)
        with m.If(self.word.valid & self.word.p.last):
            self._end(m, Mux(low == total, RunError.NONE, RunError.CONFIGURATION_CHECKSUM))
        with m.Elif(self.read_done):
            self._end(m, RunError.READ_RESPONSE)
        with m.Else():
            m.d.comb += self.cfg.valid.eq(self.word.valid)


def _accumulate(total: Value, word: Value) -> Value:
    """One step of the checksum."""
    return (total.rotate_left(1) + word)[:WORD_BITS]
