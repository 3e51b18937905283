"""Wishbone B4 between the buses of a system and others: registers as a subordinate, memory as a manager."""

from __future__ import annotations

from enum import IntEnum

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.dma.axi import Axi4LiteSignature, Axi4Signature, Response, is_error
from hw.dma.register_slice import Skid

__all__ = ["AxiToWishbone", "WishboneSignature", "WishboneToAxiLite"]


class CycleType(IntEnum):
    """CTI."""

    CLASSIC = 0
    INCREMENTING = 2
    END = 7


class WishboneSignature(wiring.Signature):
    """Manager's side. `adr` counts words of `data_width` bits; `sel` has a bit per byte; `cti` and `bte` where `bursts`
    (revision B.3 and B.4); `stall` where not: high in cycles in which a request is not taken, for pipelined
    managers."""

    def __init__(self, *, address_width: int, data_width: int, bursts: bool):
        self.address_width, self.data_width, self.bursts = address_width, data_width, bursts
        extra = {"cti": Out(3), "bte": Out(2)} if bursts else {"stall": In(1)}
        super().__init__({
            "cyc": Out(1), "stb": Out(1), "we": Out(1), "adr": Out(address_width), "sel": Out(data_width // 8),
            "dat_w": Out(data_width), "dat_r": In(data_width), "ack": In(1), "err": In(1), **extra,
        })


class WishboneToAxiLite(wiring.Component):
    """Classic and pipelined cycles to AXI4-Lite accesses of 32 bits, one after the other.

    Ports: `wishbone` (subordinate), `axi` (manager, `address_width` bits of byte address). An access is taken in the
    cycle with `ack` or `err`: `stall` is high in all others, so that pipelined managers keep it until then. A manager
    that gives up its cycle has its access finished all the same, and hears nothing of it.
    """

    def __init__(self, address_width: int):
        super().__init__({
            "wishbone": In(WishboneSignature(address_width=address_width - 2, data_width=32, bursts=False)),
            "axi": Out(Axi4LiteSignature(address_width=address_width)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus, axi = self.wishbone, self.axi
        waits, held = Signal(3), Signal()  # channels on which a request is still to go; the manager has not gone away
        answered = Signal()
        m.d.comb += [
            bus.stall.eq(~(bus.ack | bus.err)), axi.b.ready.eq(1), axi.r.ready.eq(1),
            answered.eq(axi.b.valid | axi.r.valid), bus.dat_r.eq(axi.r.p.data),
        ]
        failed = Mux(axi.b.valid, is_error(axi.b.p.resp), is_error(axi.r.p.resp))
        live = held & bus.cyc & bus.stb
        m.d.comb += [bus.ack.eq(answered & live & ~failed), bus.err.eq(answered & live & failed)]
        for number, channel in enumerate((axi.aw, axi.w, axi.ar)):
            m.d.comb += channel.valid.eq(waits[number])
            with m.If(channel.ready):
                m.d.sync += waits[number].eq(0)
        with m.FSM():
            with m.State("IDLE"), m.If(bus.cyc & bus.stb):
                m.d.sync += [
                    axi.aw.p.addr.eq(bus.adr << 2), axi.ar.p.addr.eq(bus.adr << 2), axi.w.p.data.eq(bus.dat_w),
                    axi.w.p.strb.eq(bus.sel), waits.eq(Mux(bus.we, 0b011, 0b100)), held.eq(1),
                ]
                m.next = "WAIT"
            with m.State("WAIT"):
                with m.If(~bus.cyc | ~bus.stb):
                    m.d.sync += held.eq(0)
                with m.If(answered):
                    m.next = "IDLE"
        return m


class AxiToWishbone(wiring.Component):
    """AXI4 bursts to Wishbone cycles of as many beats, one per cycle if memory acknowledges one per cycle.

    Ports: `axi` (subordinate; incrementing bursts of full beats), `wishbone` (manager). Read and write bursts take
    turns. While the other side of AXI has no beat or takes none, `stb` is low and `cyc` stays high. `err` ends the beat
    as `ack` does, and becomes SLVERR: of a read the beat's, of a write the burst's. Latency: a cycle for requests, one
    for the data of reads, one for the answer of writes.
    """

    def __init__(self, address_width: int, data_width: int, id_width: int = 1):
        self._shift = (data_width // 8).bit_length() - 1
        self._axi = Axi4Signature(address_width=address_width, data_width=data_width, id_width=id_width)
        super().__init__({
            "axi": In(self._axi),
            "wishbone": Out(WishboneSignature(address_width=address_width - self._shift, data_width=data_width,
                                              bursts=True)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        axi, bus = self.axi, self.wishbone
        m.submodules.answers = answers = Skid(axi.r.payload.shape())
        self._left, self._name, turn, failed = Signal(8), Signal.like(axi.aw.p.id), Signal(), Signal()
        m.d.comb += [axi.r.payload.eq(answers.o.payload), axi.r.valid.eq(answers.o.valid),
                     answers.o.ready.eq(axi.r.ready)]
        taken = bus.ack | bus.err
        m.d.comb += [
            bus.cti.eq(Mux(self._left == 0, CycleType.END, CycleType.INCREMENTING)), bus.dat_w.eq(axi.w.p.data),
            bus.sel.eq(Mux(bus.we, axi.w.p.strb, -1)), axi.b.p.id.eq(self._name),
            axi.b.p.resp.eq(Mux(failed, Response.SLVERR, Response.OKAY)),
            answers.i.p.id.eq(self._name), answers.i.p.data.eq(bus.dat_r), answers.i.p.last.eq(self._left == 0),
            answers.i.p.resp.eq(Mux(bus.err, Response.SLVERR, Response.OKAY)),
        ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [axi.aw.ready.eq(axi.aw.valid & (~axi.ar.valid | turn)),
                             axi.ar.ready.eq(axi.ar.valid & ~axi.aw.ready)]
                with m.If(axi.aw.ready):
                    self._begin(m, axi.aw.p)
                    m.d.sync += [failed.eq(0), turn.eq(0)]
                    m.next = "WRITE"
                with m.Elif(axi.ar.ready):
                    self._begin(m, axi.ar.p)
                    m.d.sync += turn.eq(1)
                    m.next = "READ"
            with m.State("WRITE"):
                m.d.comb += [bus.cyc.eq(1), bus.stb.eq(axi.w.valid), bus.we.eq(1), axi.w.ready.eq(taken & axi.w.valid)]
                with m.If(axi.w.ready):
                    m.d.sync += failed.eq(failed | bus.err)
                self._step(m, axi.w.ready, "ANSWER")
            with m.State("ANSWER"):
                m.d.comb += axi.b.valid.eq(1)
                with m.If(axi.b.ready):
                    m.next = "IDLE"
            with m.State("READ"):
                m.d.comb += [bus.cyc.eq(1), bus.stb.eq(answers.i.ready), answers.i.valid.eq(taken & bus.stb)]
                self._step(m, answers.i.valid, "IDLE")
        return m

    def _begin(self, m: Module, request: object) -> None:
        m.d.sync += [self.wishbone.adr.eq(request.addr >> self._shift), self._left.eq(request.len),
                     self._name.eq(request.id)]

    def _step(self, m: Module, beat: Signal, following: str) -> None:
        """The next beat, or after the last one `following`."""
        with m.If(beat):
            m.d.sync += [self.wishbone.adr.eq(self.wishbone.adr + 1), self._left.eq(self._left - 1)]
            with m.If(self._left == 0):
                m.next = following
