"""The address side of the burst engines: a tile into rows, a row into bursts, a burst into beats."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.dma.spec import ADDRESS_BITS, PAGE_BYTES, ROW, TILE_JOB, DmaSpec

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
    """Cuts rows into INCR bursts of at most `spec.max_beats` beats within one 4 KiB page; a burst every two cycles.

    Ports: `row` (stream of `ROW`); `burst` (stream of `spec.burst`), first two cycles after its row; `busy` while
    a row is in work; `stop` drops what is left of the row, but for a burst that is already offered.
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
        row = Signal(ROW)
        rest = Signal()
        m.d.comb += [self.row.ready.eq(~self.busy), self.busy.eq(rest | self.burst.valid)]
        with m.If(self.row.valid & self.row.ready):
            m.d.sync += [row.eq(self.row.p), rest.eq(1)]
        with m.If(rest & ~self.burst.valid):
            self._measure(m, row, rest)
        with m.If(self.burst.valid & self.burst.ready):
            m.d.sync += self.burst.valid.eq(0)
        with m.If(self.stop):
            m.d.sync += rest.eq(0)
        return m

    def _measure(self, m: Module, row: data.View, rest: Signal) -> None:
        """Take the next burst off the front of the row."""
        spec = self.spec
        lane, aligned = row.address[: spec.lane_bits], row.address[spec.lane_bits :]
        beats = self._beats(m, row, lane, aligned)
        left = Signal(range(-spec.max_beats * spec.bytes, 1 << len(row.bytes)))
        fits = Signal()
        capacity = (beats << spec.lane_bits) - lane
        m.d.comb += [left.eq(row.bytes - capacity), fits.eq(left <= 0)]
        m.d.sync += [
            self.burst.valid.eq(~self.stop),
            self.burst.p.address.eq(Cat(Const(0, spec.lane_bits), aligned)),
            self.burst.p.len.eq(beats - 1),
            self.burst.p.lane.eq(lane),
            self.burst.p.bytes.eq(Mux(fits, row.bytes, capacity)),
            self.burst.p.last.eq(fits & row.last),
            row.address.eq((aligned + beats) << spec.lane_bits),
            row.bytes.eq(left),
            rest.eq(~fits),
        ]

    def _beats(self, m: Module, row: data.View, lane: Value, aligned: Value) -> Signal:
        """Beats of the next burst: to the end of the row, of the page, or the longest burst."""
        spec = self.spec
        page = (PAGE_BYTES // spec.bytes).bit_length() - 1
        needed = (row.bytes + lane + spec.bytes - 1) >> spec.lane_bits
        to_page = (1 << page) - aligned[:page]
        room = Signal(range(spec.max_beats + 1))
        beats = Signal.like(room)
        m.d.comb += room.eq(Mux(to_page < spec.max_beats, to_page, spec.max_beats))
        m.d.comb += beats.eq(Mux(needed < room, needed, room))
        return beats


class BeatCounter(wiring.Component):
    """Turns bursts into beats, one per cycle, without latency.

    Ports: `burst` (stream of `spec.burst`), taken with its last beat; `beat` (stream of `spec.beat`).
    """

    def __init__(self, spec: DmaSpec):
        self.spec = spec
        super().__init__({
            "burst": In(stream.Signature(spec.burst)),
            "beat": Out(stream.Signature(spec.beat)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        burst, beat = self.burst.p, self.beat.p
        later = Signal()
        left = Signal.like(burst.bytes)
        bytes_, room = Signal.like(burst.bytes), Signal(range(self.spec.bytes + 1))
        m.d.comb += [
            beat.lane.eq(Mux(later, 0, burst.lane)),
            bytes_.eq(Mux(later, left, burst.bytes)),
            room.eq(self.spec.bytes - beat.lane),
            beat.last.eq(bytes_ <= room),
            beat.count.eq(Mux(beat.last, bytes_, room)),
            beat.tile_last.eq(beat.last & burst.last),
            self.beat.valid.eq(self.burst.valid),
            self.burst.ready.eq(self.beat.ready & beat.last),
        ]
        with m.If(self.beat.valid & self.beat.ready):
            m.d.sync += [left.eq(bytes_ - room), later.eq(~beat.last)]
        return m
