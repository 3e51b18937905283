"""The host of a board that has none: a ROM of register writes, played once after reset."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.dma.axi import Axi4LiteSignature, Response, offer_write

__all__ = ["BootSequencer"]


class BootSequencer(wiring.Component):
    """Plays `writes` (byte offset, 32-bit value) on an AXI4-Lite bus, waits for the interrupt, reads the status.

    Each write waits for its response. A response other than OKAY, an error code in the status register, or no
    interrupt within `timeout` cycles after the last write ends in `error`. A write takes 3 cycles or more.

    Ports:
        start: begin; once begun it does not matter.
        bus: the AXI4-Lite manager.
        irq: the run has ended (level).
        busy: from `start` on until `done` or `error`.
        done, error: how it ended; they stay until reset. At most one is high.

    `status` is the byte offset of the status register, `error_bits` (low bit, width) of its error code.
    """

    def __init__(
        self,
        writes: Sequence[tuple[int, int]],
        *,
        address_width: int,
        status: int,
        error_bits: tuple[int, int],
        timeout: int = 1 << 30,
    ):
        self._writes = list(writes)
        self._status = status
        self._error_bits = error_bits
        self._timeout = timeout
        super().__init__({
            "start": In(1),
            "bus": Out(Axi4LiteSignature(address_width=address_width)),
            "irq": In(1),
            "busy": Out(1),
            "done": Out(1),
            "error": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        index = Signal(range(len(self._writes) + 1))
        waited = Signal(range(self._timeout + 1))
        words = self._rom(m, index)
        bus = self.bus
        m.d.comb += [
            bus.aw.p.addr.eq(words[32:]),
            bus.w.p.data.eq(words[:32]),
            bus.w.p.strb.eq(~0),
            bus.ar.p.addr.eq(self._status),
        ]
        with m.FSM() as fsm:
            with m.State("IDLE"):
                with m.If(self.start):
                    m.next = "FETCH"
            with m.State("FETCH"):
                m.next = "WRITE"
                with m.If(index == len(self._writes)):
                    m.next = "WAIT"
            self._write_states(m, index)
            with m.State("WAIT"):
                m.d.sync += waited.eq(waited + 1)
                with m.If(self.irq):
                    m.next = "ASK"
                with m.Elif(waited == self._timeout):
                    m.next = "ERROR"
            self._status_states(m)
            with m.State("DONE"):
                m.d.comb += self.done.eq(1)
            with m.State("ERROR"):
                m.d.comb += self.error.eq(1)
        m.d.comb += self.busy.eq(~fsm.ongoing("IDLE") & ~self.done & ~self.error)
        return m

    def _rom(self, m: Module, index: Signal):
        """The write number `index`, a cycle later: value in bits 0 to 31, byte offset above."""
        init = [offset << 32 | value for offset, value in self._writes]
        width = 32 + self.bus.signature.address_width
        m.submodules.rom = rom = Memory(shape=width, depth=max(2, len(init)), init=init)
        port = rom.read_port()
        m.d.comb += port.addr.eq(index)
        return port.data

    def _write_states(self, m: Module, index: Signal) -> None:
        bus = self.bus
        with m.State("WRITE"), m.If(offer_write(m, bus, "write")):
            m.d.sync += index.eq(index + 1)
            m.next = "RESPONSE"
        with m.State("RESPONSE"):
            m.d.comb += bus.b.ready.eq(1)
            with m.If(bus.b.valid):
                m.next = "FETCH"
                with m.If(bus.b.p.resp != Response.OKAY):
                    m.next = "ERROR"

    def _status_states(self, m: Module) -> None:
        bus = self.bus
        low, width = self._error_bits
        with m.State("ASK"):
            m.d.comb += bus.ar.valid.eq(1)
            with m.If(bus.ar.ready):
                m.next = "ANSWER"
        with m.State("ANSWER"):
            m.d.comb += bus.r.ready.eq(1)
            with m.If(bus.r.valid):
                m.next = "DONE"
                with m.If((bus.r.p.resp != Response.OKAY) | bus.r.p.data[low : low + width].any()):
                    m.next = "ERROR"
