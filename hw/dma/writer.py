"""Burst engine that writes tiles to memory from a packed stream."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect

from hw.dma.addresses import BeatCounter, BurstSplitter, RowWalker
from hw.dma.axi import Axi4Signature, address_payload, is_error
from hw.dma.packing import Unpacker
from hw.dma.spec import TILE_JOB, DmaSpec

__all__ = ["BurstWriter"]


class BurstWriter(wiring.Component):
    """Writes tiles: one at a time, or (`ahead`) the next one from when the addresses of the one before are out. The
    first address is out five cycles after the job; data are a cycle later if they come a long way (`late`).

    Ports: `job` (stream of `TILE_JOB`, taken when idle) starts a tile, whose bytes are taken from `word` (stream of
    `data_width` bits, first byte in the low bits, rows without gaps; what is left of the tile's last word is
    dropped); `sent` is high when the last beat of a tile is made. `done` is high for one cycle when memory has
    acknowledged every burst. `stop` gives all tiles up.
    `outstanding`: bursts that are not acknowledged. `aw`, `w`, `b`: channels of AXI4. Data do not wait for their
    address to be accepted.

    From two cycles after an answer SLVERR or DECERR (`error` is high until the next job), and one after `stop`, no
    further burst begins, those begun end with beats without strobes, nothing more is taken from `word`, and `done`
    follows.
    """

    def __init__(self, spec: DmaSpec, ahead: bool = False, late: bool = False):
        self.spec, self.ahead, self.late = spec, ahead, late
        axi = Axi4Signature(data_width=spec.data_width).members
        super().__init__({
            "job": In(stream.Signature(TILE_JOB)),
            "word": In(stream.Signature(spec.data_width)),
            "stop": In(1),
            "busy": Out(1),
            "done": Out(1),
            "sent": Out(1),
            "error": Out(1),
            "outstanding": Out(4),
            "aw": axi["aw"],
            "w": axi["w"],
            "b": axi["b"],
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.walker = walker = RowWalker()
        m.submodules.splitter = splitter = BurstSplitter(self.spec)
        m.submodules.pending = pending = SyncFIFO(width=self.spec.burst.size, depth=self.spec.outstanding)
        connect(m, walker.row, splitter.row)
        giving_up = Signal()  # from a register: much depends on it in the same cycle
        m.d.sync += giving_up.eq((self.stop | self.error) & self.busy)
        m.d.comb += [
            walker.stop.eq(giving_up),
            splitter.stop.eq(giving_up),
            walker.job.p.eq(self.job.p),
            walker.job.valid.eq(self.job.valid & self.job.ready),
            self.job.ready.eq((walker.job.ready & ~self.done if self.ahead else ~self.busy) & ~giving_up),
        ]
        started = Signal()
        self._request(m, splitter, pending)
        self._send(m, pending, giving_up)
        m.d.sync += started.eq(self.busy & ~self.done)
        with m.If(self.job.valid & self.job.ready):
            m.d.sync += [self.busy.eq(1), self.error.eq(0)]
        m.d.comb += self.done.eq(started & ~(walker.busy | splitter.busy | (self.outstanding != 0)))
        with m.If(self.done):
            m.d.sync += self.busy.eq(0)
        return m

    def _request(self, m: Module, splitter: BurstSplitter, pending: SyncFIFO) -> None:
        """Bursts go to the address register and to the list of those that data have to be sent for."""
        go, acknowledged = Signal(), Signal()
        below = self.outstanding != self.spec.outstanding
        m.d.comb += [
            go.eq(splitter.burst.valid & pending.w_rdy & below & (~self.aw.valid | self.aw.ready)),
            splitter.burst.ready.eq(go),
            pending.w_en.eq(go),
            pending.w_data.eq(splitter.burst.p),
            self.b.ready.eq(1),
            acknowledged.eq(self.b.valid & self.b.ready),
        ]
        m.d.sync += self.outstanding.eq(self.outstanding + go - acknowledged)
        with m.If(self.aw.ready):
            m.d.sync += self.aw.valid.eq(0)
        with m.If(go):
            m.d.sync += [self.aw.valid.eq(1), address_payload(self.aw.p, splitter.burst.p, self.spec.bytes)]
        with m.If(acknowledged & is_error(self.b.p.resp)):
            m.d.sync += self.error.eq(1)

    def _send(self, m: Module, pending: SyncFIFO, giving_up: Signal) -> None:
        m.submodules.beats = beats = BeatCounter(self.spec)
        m.submodules.unpacker = unpacker = Unpacker(self.spec, self.late)
        connect(m, beats.beat, unpacker.beat)
        connect(m, wiring.flipped(self.word), unpacker.word)
        connect(m, wiring.flipped(self.w), unpacker.data)
        m.d.comb += [
            beats.burst.p.eq(pending.r_data),
            beats.burst.valid.eq(pending.r_rdy),
            pending.r_en.eq(beats.burst.ready),
            unpacker.blank.eq(giving_up),
            self.sent.eq(beats.beat.valid & beats.beat.ready & beats.beat.p.tile_last),
        ]
