"""Outermost I/O module of what goes out: tiles of results to main memory (Wang 2021, section 6.2)."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hw.dma.axi import Axi4Signature, is_error
from hw.dma.register_slice import Skid
from hw.dma.word_queue import WordQueue
from hw.systolic.loader import (
    BURST_BEATS,
    OUTSTANDING,
    QUEUE_BEATS,
    Bursts,
    StreamPlan,
    address_channel,
    count_bursts,
)
from hw.systolic.tiles import ADDRESS_BITS, EXTENT_BITS, each

__all__ = ["Storer", "result_burst"]

_BURST_BYTES = 64


def _longest(bus_bits: int) -> int:
    """Beats of a burst: results that come as fast as memory takes them are behind by a burst in the end, so bursts are
    no longer than it takes to keep memory busy while it answers the earlier ones."""
    return min(BURST_BEATS, max(4, 8 * _BURST_BYTES // bus_bits))


def result_burst(bus_bits: int, left: int) -> int:
    """Beats of a burst when `left` beats of a run are still to be stored: the last ones are shorter."""
    most = _longest(bus_bits)
    if left <= BURST_BEATS:
        most = min(most, BURST_BEATS // 2 if left > BURST_BEATS // 2 else BURST_BEATS // 4)
    return min(most, left)


class Storer(wiring.Component):
    """Writes `i` (beats of memory) to tiles. A burst begins when all its data are there.

    Ports: `load` starts with `base`, `extents`, `strides` as of `TileAddresses`. `stop`: no more bursts begin. `busy`:
    a burst has not been acknowledged; `left`: bursts are still to come; `error`: memory has reported one. `aw`, `w`,
    `b`: AXI4.

    No proof: queues of 64 beats and bursts of 16 are beyond the solver; its queues and the order of its bursts are
    proven.
    """

    def __init__(self, plan: StreamPlan, bus_bits: int):
        self._plan, self._bits = plan, bus_bits
        axi = Axi4Signature(data_width=bus_bits).members
        super().__init__({
            "load": In(1), "base": In(ADDRESS_BITS), "extents": In(EXTENT_BITS).array(plan.loops),
            "strides": In(ADDRESS_BITS).array(len(plan.strided)), "i": In(stream.Signature(bus_bits)),
            "stop": In(1), "busy": Out(1), "left": Out(1), "error": Out(1),
            "aw": axi["aw"], "w": axi["w"], "b": axi["b"],
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.bursts = bursts = Bursts(self._plan, self._bits, longest=_longest(self._bits), tapered=True)
        m.submodules.queue = queue = WordQueue(self._bits, QUEUE_BEATS)
        m.submodules.lengths = lengths = SyncFIFO(width=BURST_BEATS.bit_length() - 1, depth=OUTSTANDING)
        m.d.comb += [
            bursts.load.eq(self.load), bursts.base.eq(self.base), *each(bursts.extents, self.extents),
            *each(bursts.strides, self.strides), queue.word.eq(self.i.payload), queue.put.eq(self.i.valid),
            self.i.ready.eq(queue.room), self.left.eq(bursts.left), self.b.ready.eq(1),
        ]
        go, sent, acknowledged = Signal(), Signal(), Signal()
        outstanding, below = Signal(range(OUTSTANDING + 1)), Signal(init=1)  # whether there may be one more
        m.d.comb += [self.busy.eq(outstanding != 0), acknowledged.eq(self.b.valid & self.b.ready)]
        count_bursts(m, outstanding, below, go, acknowledged)
        with m.If(acknowledged & is_error(self.b.p.resp)):
            m.d.sync += self.error.eq(1)
        with m.If(self.load):
            m.d.sync += self.error.eq(0)
        self._addresses(m, bursts, queue.room & self.i.valid, lengths, go, below)
        self._data(m, queue, lengths, sent)
        return m

    def _addresses(self, m: Module, bursts: Bursts, came: Value, lengths: SyncFIFO, go: Signal, below: Value) -> None:
        """Bursts begin; as many as may be `below` the limit have a place in `lengths`, which they leave earlier."""
        unclaimed = Signal(range(QUEUE_BEATS + BURST_BEATS + 1))  # beats here that no burst has been begun for
        burst = bursts.o.p
        m.d.comb += [
            go.eq(bursts.o.valid & (unclaimed >= burst.beats) & below & ~self.stop & (~self.aw.valid | self.aw.ready)),
            bursts.o.ready.eq(go), lengths.w_en.eq(go), lengths.w_data.eq(burst.beats - 1),
        ]
        claimed = Signal.like(burst.beats)  # counted a cycle later, before there can be another burst
        m.d.sync += [claimed.eq(Mux(go, burst.beats, 0)), unclaimed.eq(unclaimed + came - claimed)]
        with m.If(self.aw.ready):
            m.d.sync += self.aw.valid.eq(0)
        with m.If(~self.aw.valid | self.aw.ready):  # even without a burst: fewer signals have a say in many bits
            m.d.sync += address_channel(self.aw.p, burst, self._bits // 8)
        with m.If(go):
            m.d.sync += self.aw.valid.eq(1)

    def _data(self, m: Module, queue: WordQueue, lengths: SyncFIFO, sent: Signal) -> None:
        # Memory's ready ends at a register slice: the queue is far from the rest.
        m.submodules.slice = slice_ = Skid(self._bits)
        place = Signal(range(BURST_BEATS))
        last = place == lengths.r_data
        m.d.comb += [
            slice_.i.payload.eq(queue.data), slice_.i.valid.eq(queue.valid), queue.take.eq(slice_.i.ready),
            self.w.p.data.eq(slice_.o.payload), self.w.p.strb.eq(-1), self.w.p.last.eq(last),
            self.w.valid.eq(slice_.o.valid & lengths.r_rdy), sent.eq(self.w.valid & self.w.ready),
            slice_.o.ready.eq(self.w.ready & lengths.r_rdy), lengths.r_en.eq(sent & last),
        ]
        with m.If(sent):
            m.d.sync += place.eq(Mux(last, 0, place + 1))
