"""The address side of the burst engines: a tile into rows, a row into bursts, a burst into beats."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.dma.spec import ADDRESS_BITS, PAGE_BYTES, ROW, ROW_BYTES_BITS, TILE_JOB, DmaSpec

__all__ = ["BeatCounter", "BurstSplitter", "RowWalker"]


class RowWalker(wiring.Component):
    """Turns a tile into its rows, planes outermost; one row per cycle, the first one cycle after the job.

    Ports: `job` (stream of `TILE_JOB`), accepted when idle; `row` (stream of `ROW`); `busy` while rows are left;
    `stop` drops the rows that are left.
    """

    def __init__(self) -> None:
        super().__init__({
            "job": In(stream.Signature(TILE_JOB)),
            "row": Out(stream.Signature(ROW)),
            "stop": In(1),
            "busy": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        job = Signal(TILE_JOB)
        plane = Signal(ADDRESS_BITS)
        rows = Signal.like(job.rows)
        m.d.comb += [
            self.job.ready.eq(~self.busy),
            self.row.valid.eq(self.busy),
            self.row.p.address.eq(job.address),
            self.row.p.bytes.eq(job.row_bytes),
            self.row.p.last.eq((rows == 1) & (job.planes == 1)),
        ]
        with m.If(self.job.valid & self.job.ready):
            m.d.sync += [job.eq(self.job.p), plane.eq(self.job.p.address), rows.eq(self.job.p.rows)]
            m.d.sync += self.busy.eq(1)
        with m.Elif(self.row.ready):
            self._step(m, job, plane, rows)
        with m.If(self.stop):
            m.d.sync += self.busy.eq(0)
        return m

    def _step(self, m: Module, job: data.View, plane: Signal, rows: Signal) -> None:
        next_plane = (plane + job.plane_stride)[:ADDRESS_BITS]
        m.d.sync += [job.address.eq(job.address + job.row_stride), rows.eq(rows - 1)]
        with m.If(rows == 1):
            m.d.sync += [job.address.eq(next_plane), plane.eq(next_plane), rows.eq(job.rows)]
            m.d.sync += job.planes.eq(job.planes - 1)
        with m.If(self.row.p.last):
            m.d.sync += self.busy.eq(0)


class BurstSplitter(wiring.Component):
    """Cuts rows into INCR bursts of at most `spec.max_beats` beats within one 4 KiB page; a burst every three cycles.

    Ports: `row` (stream of `ROW`); `burst` (stream of `spec.burst`), first three cycles after its row; `busy` while
    a row is in work; `stop` drops what is left of the row, but for a burst whose length is already being computed.
    """

    def __init__(self, spec: DmaSpec):
        self.spec = spec
        super().__init__({
            "row": In(stream.Signature(ROW)),
            "burst": Out(stream.Signature(spec.burst)),
            "stop": In(1),
            "busy": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spec, burst = self.spec, self.burst.p
        address = Signal(ADDRESS_BITS - spec.lane_bits)  # of the next beat, in beats
        left = Signal(ROW_BYTES_BITS + 1)  # beats of the row from there on
        head, tail = (Signal(spec.lane_bits, name=name) for name in ("head", "tail"))  # bytes not wanted at the ends
        last, fits = Signal(), Signal()
        room, beats = (Signal(range(spec.max_beats + 1), name=name) for name in ("room", "beats"))
        m.d.comb += [
            burst.address.eq(address << spec.lane_bits),
            burst.len.eq(beats - 1),
            burst.lane.eq(head),
            burst.bytes.eq((beats << spec.lane_bits) - head - Mux(fits, tail, 0)),
            burst.last.eq(fits & last),
        ]
        with m.FSM() as steps:
            m.d.comb += self.busy.eq(~steps.ongoing("ROW"))
            with m.State("ROW"):
                m.d.comb += self.row.ready.eq(~self.stop)
                with m.If(self.row.valid & self.row.ready):
                    row, bits = self.row.p, spec.lane_bits
                    over = row.address[:bits] + row.bytes[:bits]  # what remains makes one long sum, not two
                    m.d.sync += [
                        Cat(head, address).eq(row.address),
                        left.eq(row.bytes[bits:] + ((over + spec.bytes - 1) >> bits)),
                        tail.eq(-over),
                        last.eq(row.last),
                    ]
                    m.next = "ROOM"
            with m.State("ROOM"):
                m.d.sync += room.eq(self._room(address))
                m.next = "BEATS"
                with m.If(self.stop):
                    m.next = "ROW"
            with m.State("BEATS"):
                m.d.sync += [fits.eq(left <= room), beats.eq(Mux(left <= room, left, room))]
                m.next = "BURST"
            with m.State("BURST"):
                m.d.comb += self.burst.valid.eq(1)
                with m.If(self.burst.ready):
                    m.d.sync += [address.eq(address + beats), left.eq(left - beats), head.eq(0)]
                    m.next = "ROOM"
                    with m.If(fits | self.stop):
                        m.next = "ROW"
        return m

    def _room(self, address: Value) -> Value:
        """Beats that a burst at beat `address` can have: to the end of the page, at most the longest burst."""
        page = (PAGE_BYTES // self.spec.bytes).bit_length() - 1
        to_page = (1 << page) - address[:page]
        return Mux(to_page < self.spec.max_beats, to_page, self.spec.max_beats)


class BeatCounter(wiring.Component):
    """Turns bursts into beats, one per cycle, one cycle later.

    Ports: `burst` (stream of `spec.burst`), taken with its last beat; `beat` (stream of `spec.beat`, from registers).
    """

    def __init__(self, spec: DmaSpec):
        self.spec = spec
        super().__init__({
            "burst": In(stream.Signature(spec.burst)),
            "beat": Out(stream.Signature(spec.beat)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        burst = self.burst.p
        later, go, last = Signal(), Signal(), Signal()
        left, bytes_, beats = Signal.like(burst.bytes), Signal.like(burst.bytes), Signal.like(burst.len)
        lane, room = Signal.like(burst.lane), Signal(range(self.spec.bytes + 1))
        m.d.comb += [
            go.eq(self.burst.valid & (~self.beat.valid | self.beat.ready)),
            lane.eq(Mux(later, 0, burst.lane)),
            bytes_.eq(Mux(later, left, burst.bytes)),
            room.eq(self.spec.bytes - lane),
            last.eq(Mux(later, beats, burst.len) == 0),
            self.burst.ready.eq(go & last),
        ]
        with m.If(self.beat.ready):
            m.d.sync += self.beat.valid.eq(0)
        with m.If(go):
            m.d.sync += [
                left.eq(bytes_ - room),
                beats.eq(Mux(later, beats, burst.len) - 1),
                later.eq(~last),
                self.beat.valid.eq(1),
                self.beat.p.lane.eq(lane),
                self.beat.p.count.eq(Mux(last, bytes_, room)),
                self.beat.p.last.eq(last),
                self.beat.p.tile_last.eq(last & burst.last),
            ]
        return m
