"""The address side of the scratchpad DMA engine: jobs into rows, rows into bursts and chunk requests."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.dma.axi import address_payload
from hw.dma.scratchpad_align import Skid
from hw.dma.scratchpad_spec import ScratchpadDmaSpec
from hw.dma.spec import ADDRESS_BITS

__all__ = ["BurstIssue", "ChunkRequests", "RowPairWalker"]


class RowPairWalker(wiring.Component):
    """Turns jobs into rows, one per cycle and without a gap between jobs, the first one a cycle after its job.

    Ports: `job` (stream of `spec.transfer`), `row` (stream of `spec.row`). No rows count as one.
    """

    def __init__(self, spec: ScratchpadDmaSpec):
        self.spec = spec
        super().__init__({"job": In(stream.Signature(spec.transfer)), "row": Out(stream.Signature(spec.row))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        job, row = Signal(self.spec.transfer), self.row.p
        last = Signal()  # of the rows of `job`, known before it is asked for
        m.d.comb += [
            row.sp.eq(job.sp), row.memory.eq(job.memory), row.bytes.eq(job.bytes), row.last.eq(last),
            self.job.ready.eq(~self.row.valid | (self.row.ready & row.last)),
        ]
        with m.If(self.job.ready):
            m.d.sync += [job.eq(self.job.p), last.eq(self.job.p.rows <= 1), self.row.valid.eq(self.job.valid)]
        with m.Elif(self.row.ready):
            m.d.sync += [job.sp.eq(job.sp + job.sp_inc), job.memory.eq(job.memory + job.memory_inc),
                         job.rows.eq(job.rows - 1), last.eq(job.rows == 2)]
        return m


class BurstIssue(wiring.Component):
    """Asks for the bursts of rows, one per cycle, the first one two cycles after its row.

    A burst ends with its row or before a multiple of `spec.burst_beats` beats. The next one is asked for while fewer
    than `ahead` beats are outstanding and fewer than `spec.outstanding` bursts.

    Ports: `row` (stream of byte `address`, `bytes`, and whether it is the `last` of its job), `channel` (stream of an
    AXI address payload). `beat`: a beat of data passes in this cycle; `ended`: a burst comes to its end. `announced`:
    data of bursts asked for are still to pass. `issued`: a burst is asked for, `issued_last` the last one of its job.

    No proof: its rows come in pairs from a walker that a proof would have to contain; the memory of the test bench
    checks every burst.
    """

    def __init__(self, spec: ScratchpadDmaSpec, channel: wiring.Member, ahead: int):
        self.spec = spec
        self._ahead = ahead
        row = data.StructLayout({"address": ADDRESS_BITS, "bytes": spec.address_bits + 1, "last": 1})
        super().__init__({
            "row": In(stream.Signature(row)),
            "channel": channel,
            "beat": In(1),
            "ended": In(1),
            "announced": Out(1),
            "issued": Out(1),
            "issued_last": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spec, bits = self.spec, self.spec.burst_bits
        burst = data.StructLayout({"address": ADDRESS_BITS, "len": 8})
        m.submodules.skid = skid = Skid(burst)
        now, end = (Signal(ADDRESS_BITS - spec.lane_bits, name=name) for name in ("now", "end"))  # beats
        active, last, fits, allowed = Signal(), Signal(), Signal(), Signal()
        length = Signal(bits)  # beats of the burst less one
        row = self.row.p
        m.d.comb += [
            fits.eq(now[bits:] == end[bits:]),
            length.eq(Mux(fits, end[:bits], spec.burst_beats - 1) - now[:bits]),
            skid.input.p.address.eq(now << spec.lane_bits), skid.input.p.len.eq(length),
            skid.input.valid.eq(active & allowed),
            self.issued.eq(skid.input.valid & skid.input.ready), self.issued_last.eq(fits & last),
            self.row.ready.eq(~active | (self.issued & fits)),
            address_payload(self.channel.p, skid.output.p, spec.memory_bytes),
            self.channel.valid.eq(skid.output.valid), skid.output.ready.eq(self.channel.ready),
        ]
        with m.If(self.issued):
            m.d.sync += [now[:bits].eq(0), now[bits:].eq(now[bits:] + 1)]
        with m.If(self.row.ready):
            m.d.sync += [active.eq(self.row.valid), now.eq(row.address[spec.lane_bits :]), last.eq(row.last)]
            m.d.sync += end.eq((row.address + row.bytes - 1)[:ADDRESS_BITS] >> spec.lane_bits)
        self._count(m, length, allowed)
        return m

    def _count(self, m: Module, length: Signal, allowed: Signal) -> None:
        beats = Signal(range(self._ahead + self.spec.burst_beats))
        bursts = Signal(range(self.spec.outstanding + 1))
        m.d.comb += [
            allowed.eq((beats < self._ahead) & (bursts != self.spec.outstanding)),
            self.announced.eq(beats != 0),
        ]
        m.d.sync += [
            beats.eq(beats + Mux(self.issued, length + 1, 0) - self.beat),
            bursts.eq(bursts + self.issued - self.ended),
        ]


class ChunkRequests(wiring.Component):
    """Asks for the chunks of rows, one per cycle, the first one two cycles after its row.

    Ports: `row` (stream of the numbers of its `first` and `last` chunk), `chunk` (stream of a chunk's number).
    """

    def __init__(self, spec: ScratchpadDmaSpec):
        self.spec = spec
        row = data.StructLayout({"first": spec.chunk_bits, "last": spec.chunk_bits})
        super().__init__({"row": In(stream.Signature(row)), "chunk": Out(stream.Signature(spec.chunk_bits))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.skid = skid = Skid(self.spec.chunk_bits)
        connect(m, skid.output, flipped(self.chunk))
        active, now, last = Signal(), Signal(self.spec.chunk_bits), Signal(self.spec.chunk_bits)
        m.d.comb += [
            skid.input.valid.eq(active), skid.input.payload.eq(now),
            self.row.ready.eq(~active | (skid.input.ready & (now == last))),
        ]
        with m.If(skid.input.ready):
            m.d.sync += now.eq(now + 1)
        with m.If(self.row.ready):
            m.d.sync += [active.eq(self.row.valid), now.eq(self.row.p.first), last.eq(self.row.p.last)]
        return m
