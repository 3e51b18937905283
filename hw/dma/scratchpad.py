"""The scratchpad DMA engine: transfers between main memory and the scratchpad of a vector processor.

Both sides are byte addressed, of any alignment. Reads and writes of memory go on side by side, each at one beat per
cycle; addresses of the next rows and jobs go out while data of the current ones pass, so that neither a new row nor a
new job costs a cycle by itself (`RowPlanner` tells what differing alignment costs). Liu 2012, section 2.2.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.dma.axi import Axi4Signature, is_error
from hw.dma.scratchpad_align import Realigner, RowPlanner, Spare
from hw.dma.scratchpad_order import JobOrder
from hw.dma.scratchpad_rows import BurstIssue, ChunkRequests, RowPairWalker
from hw.dma.scratchpad_spec import ScratchpadDmaSpec
from hw.vector_lanes.core_ports import JOB

__all__ = ["ScratchpadDma", "ScratchpadDmaSpec"]

WRITE_AHEAD = 16
"""Beats that write addresses are ahead of their data: other managers on the bus have to wait for these data."""


class _RowQueue(wiring.Component):
    """Rows, `depth` of them, on their way to the data path."""

    def __init__(self, layout: Any, depth: int):
        self._fifo = SyncFIFO(width=layout.size, depth=depth)
        super().__init__({"input": In(stream.Signature(layout)), "output": Out(stream.Signature(layout))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.fifo = fifo = self._fifo
        m.d.comb += [
            fifo.w_data.eq(self.input.p), fifo.w_en.eq(self.input.valid), self.input.ready.eq(fifo.w_rdy),
            self.output.p.eq(fifo.r_data), self.output.valid.eq(fifo.r_rdy), fifo.r_en.eq(self.output.ready),
        ]
        return m


def _fork(m: Module, source: Any, *sinks: Any) -> None:
    """Each item of `source` goes to all `sinks`, in the same cycle."""
    for sink in sinks:
        others = [other.ready for other in sinks if other is not sink]
        valid = source.valid
        for ready in others:
            valid = valid & ready
        m.d.comb += sink.valid.eq(valid)
    ready = sinks[0].ready
    for sink in sinks[1:]:
        ready = ready & sink.ready
    m.d.comb += source.ready.eq(ready)


class ScratchpadReader(wiring.Component):
    """Main memory to scratchpad. The first address is out three cycles after its job; data pass in two cycles.

    Ports: `job` (stream of `spec.transfer`), `write` (stream of `spec.chunk_write`), AXI4 channels `ar` and `r`.
    `done`: the last chunk of a job has been taken. `error`: memory refused a beat, whose bytes are written as they
    came.

    No proof: a job of two rows takes too many cycles for the solver; its slices are proven, and it is simulated
    beside a model.
    """

    def __init__(self, spec: ScratchpadDmaSpec):
        self.spec = spec
        axi = Axi4Signature(data_width=spec.data_width).members
        super().__init__({
            "job": In(stream.Signature(spec.transfer)),
            "write": Out(stream.Signature(spec.chunk_write)),
            "done": Out(1),
            "error": Out(1),
            "ar": axi["ar"],
            "r": axi["r"],
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spec, target = self.spec, self.spec.address_bits
        m.submodules.walker = walker = RowPairWalker(spec)
        m.submodules.rows = rows = Spare(spec.row)
        m.submodules.bursts = bursts = BurstIssue(spec, self.signature.members["ar"], spec.ahead)
        m.submodules.queue = queue = _RowQueue(spec.move(target), spec.outstanding)
        m.submodules.planner = planner = RowPlanner(spec, target)
        m.submodules.realigner = realigner = Realigner(spec, target)
        connect(m, flipped(self.job), walker.job)
        connect(m, walker.row, rows.input)
        _fork(m, rows.output, bursts.row, queue.input)
        connect(m, queue.output, planner.row)
        connect(m, planner.step, realigner.step)
        connect(m, bursts.channel, flipped(self.ar))
        row, taken = rows.output.p, self.r.valid & self.r.ready
        m.d.comb += [
            bursts.row.p.address.eq(row.memory), bursts.row.p.bytes.eq(row.bytes), bursts.row.p.last.eq(row.last),
            queue.input.p.source.eq(row.memory[: spec.lane_bits]), queue.input.p.target.eq(row.sp),
            queue.input.p.bytes.eq(row.bytes), queue.input.p.last.eq(row.last),
            realigner.source.payload.eq(self.r.p.data), realigner.source.valid.eq(self.r.valid),
            self.r.ready.eq(realigner.source.ready),
            bursts.beat.eq(taken), bursts.ended.eq(taken & self.r.p.last),
            self.error.eq(taken & is_error(self.r.p.resp)),
        ]
        word = realigner.word
        m.d.comb += [
            self.write.p.chunk.eq(word.p.unit), self.write.p.data.eq(word.p.data),
            self.write.p.strobe.eq(word.p.strobe), self.write.valid.eq(word.valid), word.ready.eq(self.write.ready),
            self.done.eq(word.valid & word.ready & word.p.job_last),
        ]
        return m


class ScratchpadWriter(wiring.Component):
    """Scratchpad to main memory. The first address and request are out three cycles after their job.

    Ports: `job` (stream of `spec.transfer`), `request` (stream of a chunk's number) and `chunk` (stream of M bytes, in
    the order of requests), AXI4 channels `aw`, `w` and `b`; no data before their address has been offered. `done`:
    memory has acknowledged the last burst of a job. `error`: it refused a burst.

    No proof: a job of two rows takes too many cycles for the solver; its slices are proven, and it is simulated
    beside a model.
    """

    def __init__(self, spec: ScratchpadDmaSpec):
        self.spec = spec
        axi = Axi4Signature(data_width=spec.data_width).members
        super().__init__({
            "job": In(stream.Signature(spec.transfer)),
            "request": Out(stream.Signature(spec.chunk_bits)),
            "chunk": In(stream.Signature(spec.data_width)),
            "done": Out(1),
            "error": Out(1),
            "aw": axi["aw"],
            "w": axi["w"],
            "b": axi["b"],
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spec = self.spec
        target = spec.lane_bits + spec.burst_bits  # of an address, only its place in the burst matters
        m.submodules.walker = walker = RowPairWalker(spec)
        m.submodules.rows = rows = Spare(spec.row)
        m.submodules.bursts = bursts = BurstIssue(spec, self.signature.members["aw"], WRITE_AHEAD)
        m.submodules.requests = requests = ChunkRequests(spec)
        m.submodules.queue = queue = _RowQueue(spec.move(target), spec.outstanding)
        m.submodules.planner = planner = RowPlanner(spec, target)
        m.submodules.realigner = realigner = Realigner(spec, target)
        connect(m, flipped(self.job), walker.job)
        connect(m, walker.row, rows.input)
        _fork(m, rows.output, bursts.row, requests.row, queue.input)
        connect(m, queue.output, planner.row)
        connect(m, planner.step, realigner.step)
        connect(m, flipped(self.chunk), realigner.source)
        connect(m, requests.chunk, flipped(self.request))
        connect(m, bursts.channel, flipped(self.aw))
        row, lanes = rows.output.p, spec.lane_bits
        m.d.comb += [
            bursts.row.p.address.eq(row.memory), bursts.row.p.bytes.eq(row.bytes), bursts.row.p.last.eq(row.last),
            requests.row.p.first.eq(row.sp >> lanes), requests.row.p.last.eq((row.sp + row.bytes - 1) >> lanes),
            queue.input.p.source.eq(row.sp[:lanes]), queue.input.p.target.eq(row.memory[:target]),
            queue.input.p.bytes.eq(row.bytes), queue.input.p.last.eq(row.last),
        ]
        self._send(m, bursts, realigner)
        self._answers(m, bursts)
        return m

    def _send(self, m: Module, bursts: BurstIssue, realigner: Realigner) -> None:
        word = realigner.word
        m.d.comb += [
            self.w.p.data.eq(word.p.data), self.w.p.strb.eq(word.p.strobe),
            self.w.p.last.eq(word.p.row_last | word.p.unit.all()),
            self.w.valid.eq(word.valid & bursts.announced), word.ready.eq(self.w.ready & bursts.announced),
            bursts.beat.eq(self.w.valid & self.w.ready),
        ]

    def _answers(self, m: Module, bursts: BurstIssue) -> None:
        """Which answers are the last ones of their jobs."""
        m.submodules.answers = answers = SyncFIFO(width=1, depth=self.spec.outstanding)
        m.d.comb += [
            answers.w_data.eq(bursts.issued_last), answers.w_en.eq(bursts.issued), answers.r_en.eq(self.b.valid),
            self.b.ready.eq(1), bursts.ended.eq(self.b.valid), self.done.eq(self.b.valid & answers.r_data),
            self.error.eq(self.b.valid & is_error(self.b.p.resp)),
        ]


class ScratchpadDma(wiring.Component):
    """The engine: a reader, a writer, and the order between them.

    Ports:

    * `job`: stream of `hw.vector_lanes.core_ports.JOB` (bytes at least 1, ranges inside the scratchpad); a job begins
      and ends as `JobOrder` says. `done`: a pulse for each, in order; those into the scratchpad when the last chunk
      has been taken, those to main memory when every burst has been acknowledged. `idle`: no job is unfinished.
    * `dma_write` (stream of `spec.chunk_write`): bytes for the scratchpad. `dma_read` (stream of a chunk's number) asks
      for a chunk, `dma_data` (stream of M bytes) brings them in order.
    * `m_axi`: main memory, AXI4 with `spec.data_width` bits, all with identifier 0.
    * `error`: memory answered with an error in this cycle: bit 0 a read, bit 1 a write. The job goes on to its end.

    From a job to its first address: four cycles (`JobOrder` tells what makes it more); from a beat of memory to
    `dma_write`, and from `dma_data` to memory, two; from the last of a job to `done` one.
    """

    def __init__(self, spec: ScratchpadDmaSpec):
        self.spec = spec
        super().__init__({
            "job": In(stream.Signature(JOB)),
            "done": Out(1),
            "idle": Out(1),
            "error": Out(2),
            "dma_write": Out(stream.Signature(spec.chunk_write)),
            "dma_read": Out(stream.Signature(spec.chunk_bits)),
            "dma_data": In(stream.Signature(spec.data_width)),
            "m_axi": Out(Axi4Signature(data_width=spec.data_width)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.order = order = JobOrder(self.spec)
        m.submodules.reader = reader = ScratchpadReader(self.spec)
        m.submodules.writer = writer = ScratchpadWriter(self.spec)
        connect(m, flipped(self.job), order.job)
        connect(m, order.read, reader.job)
        connect(m, order.write, writer.job)
        connect(m, reader.write, flipped(self.dma_write))
        connect(m, writer.request, flipped(self.dma_read))
        connect(m, flipped(self.dma_data), writer.chunk)
        for engine, names in ((reader, ("ar",)), (writer, ("aw", "w"))):
            for name in names:
                connect(m, getattr(engine, name), flipped(getattr(self.m_axi, name)))
        connect(m, flipped(self.m_axi.r), reader.r)
        connect(m, flipped(self.m_axi.b), writer.b)
        m.d.comb += [
            order.read_done.eq(reader.done), order.write_done.eq(writer.done),
            self.done.eq(order.done), self.idle.eq(order.idle), self.error.eq(reader.error | (writer.error << 1)),
        ]
        return m
