"""Which tile next: descriptors of several streams of tiles, served in turn by one reader and one writer."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.dma.descriptor import COUNT_BITS
from hw.dma.spec import ADDRESS_BITS, ROW_BYTES_BITS, TILE_JOB

__all__ = ["DESCRIPTOR", "TileSequencer"]

WORD_BITS = 32

LEVEL = data.StructLayout({"count": WORD_BITS, "stride": WORD_BITS})

DESCRIPTOR = data.StructLayout({
    "base": WORD_BITS, "row_bytes": WORD_BITS, "rows": LEVEL, "planes": LEVEL, "tiles0": LEVEL, "tiles1": LEVEL,
})
"""A descriptor window as `DmaDescriptor.words` has it."""

DESCRIPTOR_WORDS = DESCRIPTOR.size // WORD_BITS

WINDOW_BITS = 4
"""Bits of a word's number in the window of a stream."""

POSITION = data.StructLayout({
    "address": ADDRESS_BITS, "origin": ADDRESS_BITS, "index0": COUNT_BITS, "index1": COUNT_BITS,
})
"""Where a stream of tiles is: address of the next tile, of the first one with the same index1, and its indices."""


class TileSequencer(wiring.Component):
    """Hands out one tile at a time to each of the two engines.

    `streams` streams of tiles take turns; stream s has its descriptor in words 16*s to 16*s + 9 of a memory with one
    cycle of latency (`index`, `word`). Looking at a stream takes a cycle, handing out a tile 14.

    Ports: `enable`: look for work, else come to rest. `prepare` puts every stream back to tile 0. `wanted[s]`: stream s
    wants a transfer; `output[s]`: to memory, by the writer, else from memory, by the reader. `read_idle`,
    `write_idle`: the engine can take a job. `job` (stream of `TILE_JOB`) is for the writer if `writes`, and belongs to
    stream `stream`; `claim`: it is taken in this cycle. `bad`: in this cycle a length or count in the descriptor of
    `stream` was found to be zero or too long; it gets no job.
    """

    def __init__(self, streams: int):
        self.streams = streams
        number = range(max(2, streams))
        super().__init__({
            "enable": In(1),
            "prepare": In(1),
            "wanted": In(streams),
            "output": In(streams),
            "read_idle": In(1),
            "write_idle": In(1),
            "index": Out(range(max(2, streams) << WINDOW_BITS)),
            "word": In(WORD_BITS),
            "job": Out(stream.Signature(TILE_JOB)),
            "writes": Out(1),
            "stream": Out(number),
            "claim": Out(1),
            "bad": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        descriptor, position = Signal(DESCRIPTOR), Signal(POSITION)
        last, wrong = Signal(2), Signal()  # tile is the last one of level 0, of level 1; descriptor is wrong
        m.d.comb += self.writes.eq(self.output.bit_select(self.stream, 1))
        m.submodules.positions = memory = Memory(shape=POSITION, depth=self.streams, init=[])
        read, write = memory.read_port(domain="comb"), memory.write_port()
        fresh = Signal(self.streams)
        m.d.comb += [read.addr.eq(self.stream), write.addr.eq(self.stream)]
        m.d.comb += self._following(position, write.data, descriptor, last)
        with m.FSM():
            with m.State("LOOK"):
                self._look(m)
            with m.State("FETCH"):
                self._fetch(m, descriptor)
            with m.State("LOCATE"):
                self._locate(m, position, read.data, descriptor, fresh)
            with m.State("COMPARE"):
                m.d.sync += [
                    last[0].eq(position.index0 + 1 == descriptor.tiles0.count),
                    last[1].eq(position.index1 + 1 == descriptor.tiles1.count),
                    wrong.eq(_is_wrong(descriptor)),
                ]
                m.next = "OFFER"
            with m.State("OFFER"):
                self._offer(m, wrong)
            with m.State("STEP"):
                m.d.comb += write.en.eq(1)
                m.d.sync += fresh.bit_select(self.stream, 1).eq(0)
                self._turn(m)
        with m.If(self.prepare):
            m.d.sync += fresh.eq(-1)
        self._describe_job(m, descriptor, position)
        return m

    def _describe_job(self, m: Module, descriptor: data.View, position: data.View) -> None:
        job = self.job.p
        m.d.comb += [
            job.address.eq(position.address),
            job.row_bytes.eq(descriptor.row_bytes),
            job.rows.eq(descriptor.rows.count),
            job.row_stride.eq(descriptor.rows.stride),
            job.planes.eq(descriptor.planes.count),
            job.plane_stride.eq(descriptor.planes.stride),
        ]

    def _turn(self, m: Module) -> None:
        """Look at the next stream."""
        m.d.sync += self.stream.eq(Mux(self.stream == self.streams - 1, 0, self.stream + 1))
        m.next = "LOOK"

    def _look(self, m: Module) -> None:
        idle = Mux(self.writes, self.write_idle, self.read_idle)
        with m.If(self.enable & self.wanted.bit_select(self.stream, 1) & idle):
            m.next = "FETCH"
        with m.Elif(self.enable):
            self._turn(m)

    def _fetch(self, m: Module, descriptor: data.View) -> None:
        """Shift the words of the descriptor in; the last one comes first into the high end."""
        step = Signal(range(DESCRIPTOR_WORDS + 1))
        m.d.comb += self.index.eq(Cat(step, Const(0, WINDOW_BITS - len(step)), self.stream))
        m.d.sync += step.eq(Mux(self.enable, step + 1, 0))
        with m.If(step != 0):
            m.d.sync += descriptor.eq(Cat(Value.cast(descriptor)[WORD_BITS:], self.word))
        with m.If(step == DESCRIPTOR_WORDS):
            m.d.sync += step.eq(0)
            m.next = "LOCATE"
        with m.If(~self.enable):
            m.next = "LOOK"

    def _locate(self, m: Module, position: data.View, stored: data.View, descriptor: data.View, fresh: Value) -> None:
        m.d.sync += position.eq(stored)
        with m.If(fresh.bit_select(self.stream, 1)):
            m.d.sync += [position.address.eq(descriptor.base), position.origin.eq(descriptor.base)]
            m.d.sync += [position.index0.eq(0), position.index1.eq(0)]
        m.next = "COMPARE"

    def _offer(self, m: Module, wrong: Value) -> None:
        with m.If(~self.enable):
            m.next = "LOOK"
        with m.Elif(wrong):
            m.d.comb += self.bad.eq(1)
            self._turn(m)
        with m.Else():
            m.d.comb += [self.job.valid.eq(1), self.claim.eq(self.job.ready)]
            with m.If(self.job.ready):
                m.next = "STEP"

    def _following(self, position: data.View, after: data.View, descriptor: data.View, last: Value) -> list[Any]:
        """Assignments of the next position to `after`: level 0 counts, then level 1, then all starts over."""
        origin = Mux(last.all(), descriptor.base, position.origin + descriptor.tiles1.stride)
        return [
            after.origin.eq(Mux(last[0], origin, position.origin)),
            after.address.eq(Mux(last[0], origin, position.address + descriptor.tiles0.stride)),
            after.index0.eq(Mux(last[0], 0, position.index0 + 1)),
            after.index1.eq(Mux(last[0], Mux(last[1], 0, position.index1 + 1), position.index1)),
        ]


def _is_wrong(descriptor: data.View) -> Value:
    sizes = [(descriptor.row_bytes, ROW_BYTES_BITS)]
    sizes += [(descriptor[name].count, COUNT_BITS) for name in ("rows", "planes", "tiles0", "tiles1")]
    return Cat(((size == 0) | (size[bits:] != 0)) for size, bits in sizes).any()
