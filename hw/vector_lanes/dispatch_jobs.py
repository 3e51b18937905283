"""Transfers that are queued or running: handed to the DMA engine in order, when nothing before them is in their way."""

from __future__ import annotations

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import fifo, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.vector_lanes.core_ports import JOB
from hw.vector_lanes.ranges import overlap, range_layout
from hw.vector_lanes.spec import VectorSpec

__all__ = ["RUNNING", "JobTable", "retirements"]

RUNNING = 2
"""Transfers that the DMA engine has in its hands, beside those that wait in the queue."""

MAX_IN_FLIGHT = 63
"""More vector instructions than can be between dispatch and their last write."""


def retirements() -> int:
    """Bits of a number of instructions in flight."""
    return MAX_IN_FLIGHT.bit_length()


class JobTable(wiring.Component):
    """Table of `dma_queue` + 2 transfers, from their dispatch until the engine has finished them.

    Query: `range_d`, `range_a`, `range_b` of an instruction, or with `transfer` a transfer's range as `range_d` and
    its direction `to_host`. `conflicts` (one bit per slot) are the unfinished transfers that must end before, in the
    same cycle; `active` the unfinished ones: a bit once 0 belongs to another transfer from then on; `active_next` those
    of the next cycle.

    `allocate` (only when `room`) puts the queried transfer with `payload` into the table; it waits for `wait`
    vector instructions to retire (`retired` pulses, counted from that cycle on) and for its conflicts. `finished`
    pulses for each transfer that is done, in order.
    """

    def __init__(self, spec: VectorSpec) -> None:
        self.spec = spec
        self.slots = spec.dma_queue + RUNNING
        reach = range_layout(spec)
        super().__init__({
            "range_d": In(reach), "range_a": In(reach), "range_b": In(reach), "transfer": In(1), "to_host": In(1),
            "conflicts": Out(self.slots), "active": Out(self.slots), "active_next": Out(self.slots), "room": Out(1),
            "allocate": In(1), "payload": In(JOB), "wait": In(retirements()), "retired": In(1), "finished": In(1),
            "job": Out(stream.Signature(JOB)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.active.eq(self.active_next)
        allocated, issued, done = (self._pointer(m, name) for name in ("allocated", "issued", "done"))
        m.submodules.payloads = payloads = fifo.SyncFIFO(width=JOB.size, depth=self.slots)
        free = Signal(self.slots)
        for slot in range(self.slots):
            free_now = self._slot(m, slot, self.allocate & (allocated == slot), self.finished & (done == slot))
            m.d.comb += free[slot].eq(free_now)
        handed = self.job.valid & self.job.ready
        m.d.comb += [
            self.room.eq(~self.active.bit_select(allocated, 1)),
            payloads.w_data.eq(self.payload.as_value()), payloads.w_en.eq(self.allocate),
            self.job.payload.as_value().eq(payloads.r_data), payloads.r_en.eq(handed),
            self.job.valid.eq(payloads.r_rdy & free.bit_select(issued, 1)),
        ]
        for pointer, step in ((allocated, self.allocate), (issued, handed), (done, self.finished)):
            with m.If(step):
                m.d.sync += pointer.eq(Mux(pointer == self.slots - 1, 0, pointer + 1))
        return m

    def _pointer(self, m: Module, name: str) -> Signal:
        return Signal(range(self.slots), name=name)

    def _slot(self, m: Module, slot: int, fill: Value, finish: Value) -> Signal:
        """One transfer: compare its range with the query; returns whether nothing is in its way."""
        reach = Signal(range_layout(self.spec), name=f"range{slot}")
        to_host, wait = Signal(name=f"to_host{slot}"), Signal(retirements(), name=f"wait{slot}")
        blockers = Signal(self.slots, name=f"blockers{slot}")
        active, free = self.active[slot], Signal(name=f"free{slot}")
        m.d.comb += self.active_next[slot].eq(fill | (active & ~finish))
        with m.If(fill):
            m.d.sync += [
                reach.eq(self.range_d), to_host.eq(self.to_host), wait.eq(self.wait),
                blockers.eq(self.conflicts),
            ]
        with m.Else():
            m.d.sync += blockers.eq(blockers & self.active)
            with m.If(self.retired & (wait != 0)):
                m.d.sync += wait.eq(wait - 1)
        writes = overlap(self.range_d, reach) & ~(self.transfer & self.to_host & to_host)
        reads = ~to_host & (overlap(self.range_a, reach) | overlap(self.range_b, reach))
        m.d.comb += [
            self.conflicts[slot].eq(active & (writes | (~self.transfer & reads))),
            free.eq((wait == 0) & ~(blockers & self.active).any()),
        ]
        return free
