"""Burst engine that reads tiles from memory into a packed stream."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect

from hw.dma.addresses import BeatCounter, BurstSplitter, RowWalker
from hw.dma.axi import Axi4Signature, address_payload, is_error
from hw.dma.packing import Packer
from hw.dma.spec import TILE_JOB, DmaSpec

__all__ = ["BurstReader"]


class BurstReader(wiring.Component):
    """Reads tiles, up to `jobs` under way at once. The first address is out five cycles after the job.

    Ports: `job` (stream of `TILE_JOB`, taken when fewer than `jobs` are under way and the addresses of those before are
    out) starts a tile, whose bytes come out at `word` (stream of `spec.word`) without gaps, tile after tile. `done` is
    high in the cycle in which the last word of a tile is taken. `stop` gives all tiles up. `outstanding`: bursts whose
    last beat has not come. `ar`, `r`: channels of AXI4.

    From two cycles after an answer SLVERR or DECERR (`error` is high until the next job), and one after `stop`, no
    further burst begins, answers that are still due are thrown away, no word comes, and then `done` is high for one
    cycle.
    """

    def __init__(self, spec: DmaSpec, jobs: int = 1):
        self.spec, self.jobs = spec, jobs
        axi = Axi4Signature(data_width=spec.data_width).members
        super().__init__({
            "job": In(stream.Signature(TILE_JOB)),
            "word": Out(stream.Signature(spec.word)),
            "stop": In(1),
            "busy": Out(1),
            "done": Out(1),
            "error": Out(1),
            "outstanding": Out(4),
            "ar": axi["ar"],
            "r": axi["r"],
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.walker = walker = RowWalker()
        m.submodules.splitter = splitter = BurstSplitter(self.spec)
        m.submodules.pending = pending = SyncFIFO(width=self.spec.burst.size, depth=self.spec.outstanding)
        connect(m, walker.row, splitter.row)
        giving_up, given_up = Signal(), Signal()  # the first from a register: much depends on it in the same cycle
        m.d.sync += giving_up.eq((self.stop | self.error) & self.busy)
        m.d.comb += [
            walker.stop.eq(giving_up),
            splitter.stop.eq(giving_up),
            given_up.eq(giving_up & self.busy & ~(walker.busy | splitter.busy | (self.outstanding != 0))),
        ]
        self._request(m, splitter, pending)
        self._receive(m, pending, giving_up)
        if self.jobs == 1:
            self._control(m, walker, giving_up, given_up)
        else:
            self._count(m, walker, giving_up, given_up)
        return m

    def _control(self, m: Module, walker: RowWalker, giving_up: Value, given_up: Value) -> None:
        last = self.word.valid & self.word.ready & self.word.p.last
        m.d.comb += [
            walker.job.p.eq(self.job.p),
            walker.job.valid.eq(self.job.valid & self.job.ready),
            self.job.ready.eq(~self.busy & ~giving_up),
            self.done.eq(last | given_up),
        ]
        with m.If(self.job.valid & self.job.ready):
            m.d.sync += [self.busy.eq(1), self.error.eq(0)]
        with m.If(self.done):
            m.d.sync += self.busy.eq(0)

    def _count(self, m: Module, walker: RowWalker, giving_up: Value, given_up: Value) -> None:
        """As `_control`, with a count of the tiles that are under way."""
        under_way, begins, last = Signal(range(self.jobs + 1)), Signal(), Signal()
        m.d.comb += [
            last.eq(self.word.valid & self.word.ready & self.word.p.last), begins.eq(self.job.valid & self.job.ready),
            walker.job.p.eq(self.job.p), walker.job.valid.eq(begins), self.busy.eq(under_way != 0),
            self.job.ready.eq(walker.job.ready & (under_way != self.jobs) & ~giving_up), self.done.eq(last | given_up),
        ]
        m.d.sync += under_way.eq(under_way + begins - last)
        with m.If(begins):
            m.d.sync += self.error.eq(0)
        with m.If(given_up):
            m.d.sync += under_way.eq(0)

    def _request(self, m: Module, splitter: BurstSplitter, pending: SyncFIFO) -> None:
        """Bursts go to the address register and to the list of those that data will come for."""
        go, answered = Signal(), Signal()
        below = self.outstanding != self.spec.outstanding
        m.d.comb += [
            answered.eq(self.r.valid & self.r.ready & self.r.p.last),
            go.eq(splitter.burst.valid & pending.w_rdy & below & (~self.ar.valid | self.ar.ready)),
            splitter.burst.ready.eq(go),
            pending.w_en.eq(go),
            pending.w_data.eq(splitter.burst.p),
        ]
        m.d.sync += self.outstanding.eq(self.outstanding + go - answered)
        with m.If(self.ar.ready):
            m.d.sync += self.ar.valid.eq(0)
        with m.If(go):
            m.d.sync += [self.ar.valid.eq(1), address_payload(self.ar.p, splitter.burst.p, self.spec.bytes)]

    def _receive(self, m: Module, pending: SyncFIFO, giving_up: Signal) -> None:
        m.submodules.beats = beats = BeatCounter(self.spec)
        m.submodules.packer = packer = Packer(self.spec)
        chunk = packer.chunk
        m.d.comb += [
            beats.burst.p.eq(pending.r_data),
            beats.burst.valid.eq(pending.r_rdy),
            pending.r_en.eq(beats.burst.ready),
            beats.beat.ready.eq(self.r.valid & self.r.ready),
            self.r.ready.eq(beats.beat.valid & (chunk.ready | giving_up)),
            chunk.valid.eq(self.r.valid & beats.beat.valid & ~giving_up),
            chunk.p.data.eq(self.r.p.data),
            chunk.p.lane.eq(beats.beat.p.lane),
            chunk.p.count.eq(beats.beat.p.count),
            chunk.p.last.eq(beats.beat.p.tile_last),
            packer.clear.eq(giving_up | ~self.busy),
            self.word.p.eq(packer.word.p),
            self.word.valid.eq(packer.word.valid & ~giving_up),
            packer.word.ready.eq(self.word.ready),
        ]
        with m.If(self.r.valid & self.r.ready & is_error(self.r.p.resp)):
            m.d.sync += self.error.eq(1)
