"""The order of transfers between scratchpad and main memory: what may begin, and which is finished."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.dma.scratchpad_spec import ROWS_BITS, ScratchpadDmaSpec
from hw.dma.spec import ADDRESS_BITS
from hw.vector_lanes.core_ports import JOB

__all__ = ["CompletionOrder", "ConflictFinder", "JobOrder", "SpanFinder"]


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


class ConflictFinder(wiring.Component):
    """Remembers what unfinished jobs use, and compares a job with those that go the other way, one per cycle.

    Ports: `start`: a job of direction `start_to_host` comes. While it `scans`, its `span` is compared; `clear`: no
    unfinished job before it is in its way. `begin`: it is carried out from now on. `ended[d]`: the oldest job of
    direction d (1: to main memory) is finished.
    """

    def __init__(self, spec: ScratchpadDmaSpec):
        self.spec = spec
        sp = spec.address_bits
        self._area = data.StructLayout({"sp_low": sp, "sp_high": sp, "memory_low": ADDRESS_BITS,
                                        "memory_high": ADDRESS_BITS})
        super().__init__({
            "start": In(1), "start_to_host": In(1), "to_host": In(1), "span": In(self._area), "scans": In(1),
            "clear": Out(1), "begin": In(1), "ended": In(2),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        position = range(2 * self.spec.jobs)
        # By direction: the oldest job, the place of the next one, and the oldest one in the next cycle.
        first, last, soon = (Array(Signal(position, name=f"{name}{way}") for way in range(2))
                             for name in ("first", "last", "soon"))
        seen, other = Signal(position), Signal()
        for way in range(2):
            m.d.comb += soon[way].eq(first[way] + self.ended[way])
            m.d.sync += [first[way].eq(soon[way]), last[way].eq(last[way] + (self.begin & (self.to_host == way)))]
        leaves = (seen == first[other]) & self.ended.bit_select(other, 1)
        m.d.comb += [other.eq(~self.to_host), self.clear.eq(seen == last[other])]
        place = len(seen) - 1
        waits = self._meets(m, Cat(seen[:place], other), Cat(last[self.to_host][:place], self.to_host))
        with m.If(self.start):
            m.d.sync += seen.eq(soon[~self.start_to_host])
        with m.Elif(~self.clear & ((self.scans & ~waits) | leaves)):
            m.d.sync += seen.eq(seen + 1)
        return m

    def _meets(self, m: Module, place: Value, own: Value) -> Value:
        """Whether the span meets that of the job at `place`; the span is kept at `own`."""
        m.submodules.spans = memory = Memory(shape=self._area, depth=2 * self.spec.jobs, init=[])
        read, write = memory.read_port(domain="comb"), memory.write_port()
        span, other = self.span, read.data
        m.d.comb += [read.addr.eq(place), write.addr.eq(own), write.en.eq(self.begin), write.data.eq(span)]
        return Cat(
            (span[f"{side}_low"] <= other[f"{side}_high"]) & (other[f"{side}_low"] <= span[f"{side}_high"])
            for side in ("sp", "memory")
        ).any()


class CompletionOrder(wiring.Component):
    """Tells in the order of their beginning that jobs are finished.

    Ports: `begin` of a job, `to_host` its direction. `finished[d]`: a job of direction d is finished, in the order of
    that direction. A cycle later or more, `done`, in the order of all jobs, with `ended[d]` telling the direction.
    `full`: no more jobs can begin; `empty`: all are done.
    """

    def __init__(self, spec: ScratchpadDmaSpec):
        self.spec = spec
        super().__init__({
            "begin": In(1), "to_host": In(1), "finished": In(2), "done": Out(1), "ended": Out(2), "full": Out(1),
            "empty": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        jobs = self.spec.jobs
        first, last = (Signal(range(2 * jobs), name=name) for name in ("first", "last"))
        place = len(first) - 1
        ways, way = Signal(jobs), Signal()  # directions by place; of the oldest job
        waiting = Array(Signal(range(jobs + 1), name=f"waiting{way}") for way in range(2))
        m.d.comb += [
            way.eq(ways.bit_select(first[:place], 1)), self.done.eq(waiting[way] != 0),
            self.ended.eq(Cat(self.done & ~way, self.done & way)),
            self.empty.eq(first == last), self.full.eq((first ^ last) == jobs),
        ]
        m.d.sync += [first.eq(first + self.done), last.eq(last + self.begin)]
        for number in range(2):
            m.d.sync += waiting[number].eq(waiting[number] + self.finished[number] - self.ended[number])
        with m.If(self.begin):
            m.d.sync += ways.bit_select(last[:place], 1).eq(self.to_host)
        return m


class _State(enum.Enum, shape=2):
    EMPTY = 0
    SPAN = 1
    SCAN = 2


class JobOrder(wiring.Component):
    """Takes jobs, hands each on when nothing unfinished is in its way, and tells in which order they are finished.

    A job waits for every unfinished job before it that goes the other way and whose bounding range in main memory
    or in the scratchpad overlaps its own. Jobs of the same direction are carried out in order by whoever gets them.
    A job is handed on one cycle after it was taken, later by one cycle for each bit of the number of steps between its
    rows, and by one for each unfinished job that goes the other way.

    Ports: `job` (stream of `JOB`); `read` and `write` (streams of `spec.transfer`): jobs into the scratchpad, and out
    of it. `read_done`, `write_done`: pulses, one of these is finished, in order. `done`: pulse per job in the order
    of `job`. `idle`: no job.
    """

    def __init__(self, spec: ScratchpadDmaSpec):
        self.spec = spec
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
        m.submodules.conflicts = conflicts = ConflictFinder(self.spec)
        m.submodules.completion = completion = CompletionOrder(self.spec)
        job, to_host, steps, state = Signal(self.spec.transfer), Signal(), Signal(ROWS_BITS), Signal(_State)
        take, handed, free = Signal(), Signal(), Signal()
        m.d.comb += [
            free.eq((state == _State.SCAN) & conflicts.clear & ~completion.full),
            handed.eq(free & Mux(to_host, self.write.ready, self.read.ready)),
            self.read.p.eq(job), self.write.p.eq(job),
            self.read.valid.eq(free & ~to_host), self.write.valid.eq(free & to_host),
            self.job.ready.eq((state == _State.EMPTY) | handed), take.eq(self.job.valid & self.job.ready),
            conflicts.start.eq(take), conflicts.start_to_host.eq(self.job.p.to_host), conflicts.to_host.eq(to_host),
            conflicts.scans.eq(state == _State.SCAN), conflicts.begin.eq(handed), conflicts.ended.eq(completion.ended),
            completion.begin.eq(handed), completion.to_host.eq(to_host),
            completion.finished.eq(Cat(self.read_done, self.write_done)), self.done.eq(completion.done),
            self.idle.eq((state == _State.EMPTY) & completion.empty),
        ]
        self._find_span(m, conflicts.span, steps, state == _State.SPAN)
        with m.If(take):
            rows = self.job.p.rows
            m.d.sync += [job[name].eq(self.job.p[name]) for name in self.spec.transfer.members]
            m.d.sync += [to_host.eq(self.job.p.to_host), steps.eq(rows - 1)]
            m.d.sync += state.eq(Mux(rows > 1, _State.SPAN, _State.SCAN))
        with m.Elif(handed):
            m.d.sync += state.eq(_State.EMPTY)
        with m.Elif(state == _State.SPAN):
            m.d.sync += steps.eq(steps >> 1)
            with m.If(steps[1:] == 0):
                m.d.sync += state.eq(_State.SCAN)
        return m

    def _find_span(self, m: Module, span: data.View, steps: Value, adding: Value) -> None:
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
