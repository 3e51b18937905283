"""A memory's window: what leads out of it is refused here."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hw.dma.axi import INCR, Axi4Signature, Response

__all__ = ["AxiWindow"]

_BURSTS = 16
_REFUSED = data.StructLayout({"refused": 1, "resp": 2, "len": 8})
"""What is known of a burst whose beats are still to come."""


class AxiWindow(wiring.Component):
    """Bursts inside of the first `size` bytes go on to `memory`, no cycle later; others are answered here, in order,
    and neither read nor write anything: DECERR outside, SLVERR for other than incrementing bursts and while `open` is
    low. Up to 16 bursts of each direction are on their way.

    Ports: `bus`, the subordinate; `memory`, the manager, whose answers come in order; `open`.
    """

    def __init__(self, signature: Axi4Signature, size: int):
        self._size = size
        self._tag = data.StructLayout({**_REFUSED.members, "id": signature.id_width})
        super().__init__({"bus": In(signature), "memory": Out(signature), "open": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        reads, writes = self._addresses(m, "ar"), self._addresses(m, "aw")
        self._read(m, reads)
        self._write(m, writes)
        return m

    def _addresses(self, m: Module, name: str) -> SyncFIFO:
        """Passes or takes bursts; returns the queue of all of them."""
        channel, memory = getattr(self.bus, name), getattr(self.memory, name)
        m.submodules[name] = queue = SyncFIFO(width=self._tag.size, depth=_BURSTS)
        tag: Any = data.View(self._tag, queue.w_data)
        burst = channel.p
        first = burst.addr & ~((1 << burst.size) - 1)
        outside = first + ((burst.len + 1) << burst.size) > self._size
        closed = ~self.open | (burst.burst != INCR)
        # What memory has been offered stays, even if the window closes.
        held = Signal(name=f"{name}_held")
        m.d.comb += [
            memory.payload.eq(burst),
            tag.id.eq(burst.id), tag.len.eq(burst.len),
            tag.resp.eq(Mux(closed, Response.SLVERR, Response.DECERR)),
            tag.refused.eq((closed | outside) & ~held),
            memory.valid.eq(channel.valid & queue.w_rdy & ~tag.refused),
            channel.ready.eq(queue.w_rdy & (memory.ready | tag.refused)),
            queue.w_en.eq(channel.valid & channel.ready),
        ]
        m.d.sync += held.eq(memory.valid & ~memory.ready)
        return queue

    def _read(self, m: Module, queue: SyncFIFO) -> None:
        bus, memory = self.bus.r, self.memory.r
        tag: Any = data.View(self._tag, queue.r_data)
        beat = Signal(8)
        m.d.comb += bus.payload.eq(memory.payload)
        with m.If(queue.r_rdy & tag.refused):
            m.d.comb += [bus.valid.eq(1), bus.p.id.eq(tag.id), bus.p.resp.eq(tag.resp), bus.p.data.eq(0),
                         bus.p.last.eq(beat == tag.len)]
        with m.Elif(queue.r_rdy):
            m.d.comb += [bus.valid.eq(memory.valid), memory.ready.eq(bus.ready)]
        done = bus.valid & bus.ready
        m.d.comb += queue.r_en.eq(done & bus.p.last)
        with m.If(done):
            m.d.sync += beat.eq(Mux(bus.p.last, 0, beat + 1))

    def _write(self, m: Module, queue: SyncFIFO) -> None:
        """Data in the order of the addresses, then answers in the order of the data."""
        data_in, data_out, bus, memory = self.bus.w, self.memory.w, self.bus.b, self.memory.b
        m.submodules.answers = answers = SyncFIFO(width=self._tag.size, depth=_BURSTS)
        tag: Any = data.View(self._tag, queue.r_data)
        m.d.comb += [data_out.payload.eq(data_in.payload), answers.w_data.eq(queue.r_data)]
        with m.If(queue.r_rdy & answers.w_rdy):
            m.d.comb += [data_out.valid.eq(data_in.valid & ~tag.refused),
                         data_in.ready.eq(data_out.ready | tag.refused)]
        ended = data_in.valid & data_in.ready & data_in.p.last
        m.d.comb += [queue.r_en.eq(ended), answers.w_en.eq(ended)]
        answer: Any = data.View(self._tag, answers.r_data)
        m.d.comb += bus.payload.eq(memory.payload)
        with m.If(answers.r_rdy & answer.refused):
            m.d.comb += [bus.valid.eq(1), bus.p.id.eq(answer.id), bus.p.resp.eq(answer.resp)]
        with m.Elif(answers.r_rdy):
            m.d.comb += [bus.valid.eq(memory.valid), memory.ready.eq(bus.ready)]
        m.d.comb += answers.r_en.eq(bus.valid & bus.ready)
