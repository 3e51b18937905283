"""The order of transfers between scratchpad and main memory: what may begin, and which is finished."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.dma.scratchpad_spec import ROWS_BITS, ScratchpadDmaSpec
from hw.dma.spec import ADDRESS_BITS
from hw.vector_lanes.core_ports import JOB

__all__ = ["JobOrder", "SpanFinder"]


class SpanFinder(wiring.Component):
    """The first and last address of a job's rows on one side, by adding up: a cycle per bit of the count of steps.

    With `start`, `base`, the bytes of a row less one (`reach`) and the distance of rows (`inc`, signed, `inc_bits`)
    are taken. Every `shift` then adds the distance, if `add`, and doubles it. `low`, `high`: bounds so far, signed,
    `bits` bits.
    """

    def __init__(self, base_bits: int, inc_bits: int, bits: int):
        self._bits = bits
        super().__init__({
            "start": In(1), "base": In(base_bits), "reach": In(base_bits + 1), "inc": In(signed(inc_bits)),
            "add": In(1), "shift": In(1), "low": Out(signed(bits)), "high": Out(signed(bits)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inc = Signal(signed(self._bits))
        with m.If(self.start):
            m.d.sync += [self.low.eq(self.base), self.high.eq(self.base + self.reach), inc.eq(self.inc)]
        with m.Elif(self.shift):
            m.d.sync += inc.eq(inc << 1)
            with m.If(self.add & (inc < 0)):
                m.d.sync += self.low.eq(self.low + inc)
            with m.Elif(self.add):
                m.d.sync += self.high.eq(self.high + inc)
        return m


class _State(enum.Enum, shape=2):
    EMPTY = 0
    SPAN = 1
    SCAN = 2


class JobOrder(wiring.Component):
    """Takes jobs, hands each on when nothing unfinished is in its way, and tells in which order they are finished.

    A job waits for every unfinished job before it that goes the other way and whose bounding range in main memory
    or in the scratchpad overlaps its own. Jobs of the same direction are carried out in order by whoever gets them.
    A job is handed on two cycles after it was taken, later by one cycle for each unfinished job, and by one for each
    bit of the number of steps between its rows.

    Ports: `job` (stream of `JOB`); `read` and `write` (streams of `spec.transfer`): jobs into the scratchpad, and out
    of it. `read_done`, `write_done`: pulses, one of these is finished, in order. `done`: pulse per job in the order
    of `job`. `idle`: no job.
    """

    def __init__(self, spec: ScratchpadDmaSpec):
        self.spec = spec
        sp = spec.address_bits
        self._span = data.StructLayout({
            "to_host": 1, "sp_low": sp, "sp_high": sp, "memory_low": ADDRESS_BITS, "memory_high": ADDRESS_BITS,
        })
        super().__init__({
            "job": In(stream.Signature(JOB)),
            "read": Out(stream.Signature(spec.transfer)),
            "write": Out(stream.Signature(spec.transfer)),
            "read_done": In(1),
            "write_done": In(1),
            "done": Out(1),
            "idle": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        job, steps = Signal(self.spec.transfer), Signal(ROWS_BITS)
        span, to_host, state = Signal(self._span), Signal(), Signal(_State)
        position = range(2 * self.spec.jobs)
        head, tail, seen = (Signal(position, name=name) for name in ("head", "tail", "seen"))
        take, handed = Signal(), Signal()
        m.d.comb += span.to_host.eq(to_host)
        self._spans(m, span, steps, state == _State.SPAN)
        self._offer(m, job, to_host, (state == _State.SCAN) & (seen == tail) & ~self._full(head, tail), handed)
        waits = self._compare(m, span, seen, tail, handed)
        m.d.comb += [
            self.job.ready.eq((state == _State.EMPTY) | handed), take.eq(self.job.valid & self.job.ready),
            self.idle.eq((state == _State.EMPTY) & (head == tail)),
        ]
        m.d.sync += [head.eq(head + self.done), tail.eq(tail + handed)]
        with m.If(state != _State.SCAN):
            m.d.sync += seen.eq(head + self.done)
        with m.Elif((seen != tail) & (~waits | ((seen == head) & self.done))):
            m.d.sync += seen.eq(seen + 1)
        with m.If(handed):
            m.d.sync += state.eq(_State.EMPTY)
        with m.If(take):
            rows = self.job.p.rows
            m.d.sync += [job[name].eq(self.job.p[name]) for name in self.spec.transfer.members]
            m.d.sync += [to_host.eq(self.job.p.to_host), steps.eq(rows - 1), seen.eq(head + self.done),
                         state.eq(Mux(rows > 1, _State.SPAN, _State.SCAN))]
        with m.Elif(state == _State.SPAN):
            m.d.sync += steps.eq(steps >> 1)
            with m.If(steps[1:] == 0):
                m.d.sync += state.eq(_State.SCAN)
        self._retire(m, to_host, head, tail, handed)
        return m

    def _full(self, head: Value, tail: Value) -> Value:
        return (tail - head)[: len(head)] == self.spec.jobs

    def _spans(self, m: Module, span: data.View, steps: Value, adding: Value) -> None:
        """Bounding ranges. One in main memory that wraps around counts as all of it."""
        job, sp_bits = self.job.p, self.spec.address_bits
        m.submodules.sp = sp = SpanFinder(sp_bits, sp_bits + 1, sp_bits + 2)
        m.submodules.memory = memory = SpanFinder(ADDRESS_BITS, ADDRESS_BITS, ADDRESS_BITS + ROWS_BITS + 2)
        for side, base, inc in ((sp, job.sp, job.sp_inc), (memory, job.memory, job.memory_inc)):
            m.d.comb += [
                side.start.eq(self.job.ready), side.base.eq(base), side.inc.eq(inc), side.reach.eq(job.bytes - 1),
                side.shift.eq(adding), side.add.eq(steps[0]),
            ]
        wraps = memory.low[ADDRESS_BITS:].any() | memory.high[ADDRESS_BITS:].any()
        m.d.comb += [
            span.sp_low.eq(sp.low), span.sp_high.eq(sp.high),
            span.memory_low.eq(Mux(wraps, 0, memory.low)), span.memory_high.eq(Mux(wraps, -1, memory.high)),
        ]

    def _offer(self, m: Module, job: data.View, to_host: Value, free: Value, handed: Signal) -> None:
        m.d.comb += [
            self.read.p.eq(job), self.write.p.eq(job),
            self.read.valid.eq(free & ~to_host), self.write.valid.eq(free & to_host),
            handed.eq(free & Mux(to_host, self.write.ready, self.read.ready)),
        ]

    def _compare(self, m: Module, span: data.View, seen: Value, tail: Value, handed: Value) -> Value:
        """Whether the job in hand has to wait for the one at `seen`. Keeps the spans of jobs handed on."""
        m.submodules.spans = memory = Memory(shape=self._span, depth=self.spec.jobs, init=[])
        read, write = memory.read_port(domain="comb"), memory.write_port()
        other = read.data
        m.d.comb += [read.addr.eq(seen[: len(read.addr)]), write.addr.eq(tail[: len(write.addr)]), write.en.eq(handed),
                     write.data.eq(span)]
        meets = [
            (span[f"{side}_low"] <= other[f"{side}_high"]) & (other[f"{side}_low"] <= span[f"{side}_high"])
            for side in ("sp", "memory")
        ]
        return (span.to_host != other.to_host) & Cat(meets).any()

    def _retire(self, m: Module, to_host: Value, head: Value, tail: Value, handed: Value) -> None:
        """`done` when the oldest job is among those that are finished."""
        writes = Signal(self.spec.jobs)  # by place: the job goes to main memory
        place = len(head) - 1
        finished = {"read": Signal(range(self.spec.jobs + 1)), "write": Signal(range(self.spec.jobs + 1))}
        oldest_writes = Signal()
        m.d.comb += [
            oldest_writes.eq(writes.bit_select(head[:place], 1)),
            self.done.eq(Mux(oldest_writes, finished["write"], finished["read"]) != 0),
        ]
        with m.If(handed):
            m.d.sync += writes.bit_select(tail[:place], 1).eq(to_host)
        m.d.sync += [
            finished["read"].eq(finished["read"] + self.read_done - (self.done & ~oldest_writes)),
            finished["write"].eq(finished["write"] + self.write_done - (self.done & oldest_writes)),
        ]
