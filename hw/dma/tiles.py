"""Which band of which tile next: descriptors of several streams, served in turn by one reader and one writer."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.dma.descriptor import COUNT_BITS
from hw.dma.spec import ADDRESS_BITS, ROW_BYTES_BITS, TILE_JOB

__all__ = ["DESCRIPTOR", "HANDOUT_CYCLES", "TileSequencer"]

WORD_BITS = 32

LEVEL = data.StructLayout({"count": WORD_BITS, "stride": WORD_BITS})

DESCRIPTOR = data.StructLayout({
    "base": WORD_BITS, "row_bytes": WORD_BITS, "rows": LEVEL, "planes": LEVEL, "tiles0": LEVEL, "tiles1": LEVEL,
    "band": WORD_BITS, "band_stride": WORD_BITS, "band_lines": WORD_BITS,
})
"""A descriptor window as `DmaDescriptor.words` has it."""

DESCRIPTOR_WORDS = DESCRIPTOR.size // WORD_BITS

HANDOUT_CYCLES = DESCRIPTOR_WORDS + 4
"""Cycles from the look at a stream that wants a transfer to the claim, if the engine takes it."""

WINDOW_BITS = 4
"""Bits of a word's number in the window of a stream."""


def _position(line_bits: int) -> data.StructLayout:
    """Where a stream of tiles is: address of its tile, of the first one with the same index1, and its indices; address,
    and line in the bank, of the next band, and how many steps of the slowest level are left from there on."""
    return data.StructLayout({
        "address": ADDRESS_BITS, "origin": ADDRESS_BITS, "index0": COUNT_BITS, "index1": COUNT_BITS,
        "band": ADDRESS_BITS, "line": line_bits, "left": ROW_BYTES_BITS,
    })


class TileSequencer(wiring.Component):
    """Hands out one band of a tile at a time to each of the two engines.

    `streams` streams of tiles take turns; stream s has its descriptor in words 16*s to 16*s + 12 of a memory with one
    cycle of latency (`index`, `word`). Looking at a stream takes a cycle, handing out a band 18.

    Ports: `enable`: look for work, else come to rest. `prepare` puts every stream back to tile 0. `wanted[s]`: stream s
    wants a transfer; `output[s]`: to memory, by the writer, else from memory, by the reader. `read_idle`,
    `write_idle`: the engine can take a job. `job` (stream of `TILE_JOB`) is for the writer if `writes`, and belongs to
    stream `stream`; `claim`: it is taken in this cycle. `line`: number of the job's first line in the bank, one of
    ``2 ** line_bits``, where a tile begins in the half after the one in which the tile before ended; `last`: the job is
    its tile's last one. `bad`: in this cycle a length or count in the descriptor of
    `stream` was found to be zero or too long; it gets no job.
    """

    def __init__(self, streams: int, line_bits: int):
        self.streams = streams
        self._position = _position(line_bits)
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
            "line": Out(line_bits),
            "last": Out(1),
            "claim": Out(1),
            "bad": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        descriptor, position = Signal(DESCRIPTOR), Signal(self._position)
        last, wrong = Signal(2), Signal()  # tile is the last one of level 0, of level 1; descriptor is wrong
        m.d.comb += self.writes.eq(self.output.bit_select(self.stream, 1))
        m.submodules.positions = memory = Memory(shape=self._position, depth=self.streams, init=[])
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
                    self.last.eq(position.left <= descriptor.band),
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
        """All that is left of the slowest level, or a band of it."""
        job, steps = self.job.p, Signal(ROW_BYTES_BITS)
        planes, rows = descriptor.planes.count != 1, descriptor.rows.count != 1
        m.d.comb += [
            steps.eq(Mux(self.last, position.left, descriptor.band)),
            self.line.eq(position.line),
            job.address.eq(position.band),
            job.row_bytes.eq(Mux(planes | rows, descriptor.row_bytes, steps)),
            job.rows.eq(Mux(planes | ~rows, descriptor.rows.count, steps)),
            job.row_stride.eq(descriptor.rows.stride),
            job.planes.eq(Mux(planes, steps, descriptor.planes.count)),
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
            m.d.sync += [position[name].eq(descriptor.base) for name in ("address", "origin", "band")]
            m.d.sync += [position[name].eq(0) for name in ("index0", "index1", "line")]
            m.d.sync += position.left.eq(_slowest(descriptor))
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
        """Assignments of the next position to `after`: bands, then level 0, then level 1, then all starts over."""
        origin = Mux(last.all(), descriptor.base, position.origin + descriptor.tiles1.stride)
        address = Mux(last[0], origin, position.address + descriptor.tiles0.stride)
        turned = Cat(Const(0, len(position.line) - 1), ~position.line[-1])
        following = {
            "origin": Mux(last[0], origin, position.origin), "address": address,
            "index0": Mux(last[0], 0, position.index0 + 1),
            "index1": Mux(last[0], Mux(last[1], 0, position.index1 + 1), position.index1),
        }
        return [
            *(after[name].eq(Mux(self.last, value, position[name])) for name, value in following.items()),
            after.band.eq(Mux(self.last, address, position.band + descriptor.band_stride)),
            after.line.eq(Mux(self.last, turned, position.line + descriptor.band_lines)),
            after.left.eq(Mux(self.last, _slowest(descriptor), position.left - descriptor.band)),
        ]


def _slowest(descriptor: data.View) -> Value:
    """Steps of the level that bands divide."""
    planes, rows = descriptor.planes.count, descriptor.rows.count
    return Mux(planes != 1, planes, Mux(rows != 1, rows, descriptor.row_bytes))


def _is_wrong(descriptor: data.View) -> Value:
    sizes = [(descriptor.row_bytes, ROW_BYTES_BITS), (descriptor.band, ROW_BYTES_BITS)]
    sizes += [(descriptor[name].count, COUNT_BITS) for name in ("rows", "planes", "tiles0", "tiles1")]
    return Cat(((size == 0) | (size[bits:] != 0)) for size, bits in sizes).any()
