"""The data register of the link: from bits of scans to bytes and back."""

from __future__ import annotations

from amaranth.hdl import Cat, ClockDomain, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import AsyncFIFO
from amaranth.lib.wiring import In, Out

from hw.link.jtag.layout import GROUP_BITS, PREAMBLE, PREAMBLE_BITS

__all__ = ["LinkDataRegister"]

_DEPTH = 16
"""Bytes that wait in each direction: more than cross in the cycles that their counts take to the other clock."""


class LinkDataRegister(wiring.Component):
    """Takes the groups of a scan (`hw.link.jtag.layout`) and sends others, a bit per cycle of `tck`, whose first edge
    in Shift-DR reads the first one. Bytes cross to and from the clock of `sync` by queues, whose far ends may stand
    still: the test clock runs in scans only.

    After a reset of `sync` the host may be sent bytes that the board did not: the frames around them are damaged.

    Ports:
        tck: the test clock. enable: this register is selected, in Capture-DR and Shift-DR; shift: in Shift-DR.
        tdi: the bit that came with the edge of `tck` before this one. tdo: the bit that goes with the next one;
            changes with rising edges.
        received, sent: bytes from and to the host.
    """

    def __init__(self) -> None:
        super().__init__({
            "tck": In(1), "enable": In(1), "shift": In(1), "tdi": In(1), "tdo": Out(1),
            "received": Out(stream.Signature(8)),
            "sent": In(stream.Signature(8)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.tck = domain = ClockDomain("tck", reset_less=True)
        m.d.comb += domain.clk.eq(self.tck)
        m.submodules.inward = inward = AsyncFIFO(width=8, depth=_DEPTH, w_domain="tck", r_domain="sync")
        m.submodules.outward = outward = AsyncFIFO(width=8, depth=_DEPTH, w_domain="sync", r_domain="tck")
        m.d.comb += [
            self.received.payload.eq(inward.r_data), self.received.valid.eq(inward.r_rdy),
            inward.r_en.eq(self.received.ready),
            outward.w_data.eq(self.sent.payload), outward.w_en.eq(self.sent.valid),
            self.sent.ready.eq(outward.w_rdy),
        ]
        begins = Signal()
        m.d.comb += begins.eq(self.enable & ~self.shift)
        taken, leave = Signal(), Signal()
        loaded = self._send(m, begins, outward, taken, leave)
        self._receive(m, begins, inward, loaded, taken, leave)
        return m

    def _receive(self, m: Module, begins: Signal, queue: AsyncFIFO, loaded: Signal, taken: Signal, leave: Signal
                 ) -> None:
        """A bit is here a cycle after its edge: the last one of a scan comes when that has ended."""
        here, started, refused = Signal(), Signal(), Signal()
        group, left = Signal(GROUP_BITS), Signal(range(GROUP_BITS))
        whole = Cat(group[1:], self.tdi)
        ended, wanted = Signal(), Signal()
        m.d.comb += [
            ended.eq(here & started & (left == 0)),
            wanted.eq(ended & whole[0] & ~refused),
            queue.w_data.eq(whole[2:]),
            queue.w_en.eq(wanted),
        ]
        m.d.tck += here.eq(self.enable & self.shift)
        with m.If(here & started):
            m.d.tck += [group.eq(whole), left.eq(Mux(left == 0, GROUP_BITS - 1, left - 1))]
        with m.Elif(here):
            m.d.tck += [started.eq(self.tdi), left.eq(GROUP_BITS - 1)]
        with m.If(ended):
            m.d.tck += [leave.eq(whole[1]), taken.eq(wanted & queue.w_rdy), refused.eq(refused | wanted & ~queue.w_rdy)]
        with m.Elif(loaded):
            m.d.tck += taken.eq(0)
        with m.If(begins):
            m.d.tck += [started.eq(0), refused.eq(0), leave.eq(0), taken.eq(0)]

    def _send(self, m: Module, begins: Signal, queue: AsyncFIFO, taken: Signal, leave: Signal) -> Signal:
        """Returns what is high when a group begins."""
        bits, left = Signal(GROUP_BITS), Signal(range(GROUP_BITS))
        loaded, come = Signal(), Signal()
        m.d.comb += [
            self.tdo.eq(bits[0]),
            loaded.eq(self.enable & self.shift & (left == 0)),
            come.eq(leave & queue.r_rdy),
            queue.r_en.eq(loaded & come),
        ]
        with m.If(begins):
            m.d.tck += [bits.eq(PREAMBLE), left.eq(PREAMBLE_BITS - 1)]
        with m.Elif(loaded):
            m.d.tck += [bits.eq(Cat(taken, come, Mux(come, queue.r_data, Const(0, 8)))), left.eq(GROUP_BITS - 1)]
        with m.Elif(self.enable & self.shift):
            m.d.tck += [bits.eq(bits >> 1), left.eq(left - 1)]
        return loaded
