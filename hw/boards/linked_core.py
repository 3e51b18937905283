"""What runs on a board that a host talks to, whatever the board: system, main memory, link."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.boards.core import CoreWithLights
from hw.boards.memory import OnChipMemory
from hw.link.jtag.jtag_link import JtagLink
from hw.link.protocol import LinkSpec
from hw.link.uart_link import UartLink
from hw.litedram.memory import LiteDramMemory
from hw.sdram.memory import SdramMemory
from hw.soc.join import AxiJoin

__all__ = ["LinkedCore"]


class LinkedCore(CoreWithLights):
    """A system that does what a host on the other end of `link` says. The host and the system share main memory, on
    chip or in `memory`; the system goes first.

    `system` is a component with `hw.boards.core.system_signature`; `spec` says what the host sees of it; `link` is a
    `UartLink`, whose line is `uart_tx`, `uart_rx`, or a `JtagLink`. Ports, one per status LED:
        heartbeat: toggles every 2^`heartbeat_bits` cycles.
        busy: a request is carried out or answered.
        done: the design's interrupt.
        error: a damaged frame has come since reset.
        passed: a host has greeted.
    And those of `memory` but its bus: `sdram`, its pins; `oscillator`, in place of which the core runs with
    `memory_clock` and `memory_reset`.
    """

    def __init__(self, system: Any, spec: LinkSpec, link: UartLink | JtagLink, *,
                 memory: SdramMemory | LiteDramMemory | None = None, heartbeat_bits: int = 24):
        self._system = system
        self._spec = spec
        self._link = link
        self.serial = isinstance(link, UartLink)
        self._memory = memory
        super().__init__(heartbeat_bits, _memory_ports(memory))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spec = self._spec
        m.submodules.system = system = self._system
        m.submodules.link = link = self._link
        m.submodules.memory = memory = self._memory or OnChipMemory(
            spec.memory_bytes, beat_bytes=spec.data_width // 8, id_width=spec.id_width
        )
        if isinstance(memory, SdramMemory):
            wiring.connect(m, memory.pins, wiring.flipped(self.sdram))
        if isinstance(memory, LiteDramMemory):
            m.d.comb += [memory.oscillator.eq(self.oscillator), self.memory_clock.eq(memory.clock),
                         self.memory_reset.eq(memory.reset)]
        m.submodules.join = join = AxiJoin(system.m_axi.signature, 2)
        wiring.connect(m, system.m_axi, join.manager[0])
        wiring.connect(m, link.memory, join.manager[1])
        wiring.connect(m, join.memory, memory.bus)
        wiring.connect(m, link.registers, system.s_axil)
        self._beat(m)
        with m.If(link.damaged):
            m.d.sync += self.error.eq(1)
        if isinstance(link, UartLink):
            m.d.comb += [link.rx.eq(self.uart_rx), self.uart_tx.eq(link.tx)]
        m.d.comb += [
            link.irq.eq(system.irq),
            self.busy.eq(link.busy),
            self.done.eq(system.irq),
            self.passed.eq(link.greeted),
        ]
        if "uart_rx" in system.signature.members:
            m.d.comb += system.uart_rx.eq(1)
        return m


def _memory_ports(memory: SdramMemory | LiteDramMemory | None) -> dict[str, wiring.Member]:
    if isinstance(memory, SdramMemory):
        return {"sdram": memory.signature.members["pins"]}
    if isinstance(memory, LiteDramMemory):
        return {"oscillator": In(1), "memory_clock": Out(1), "memory_reset": Out(1)}
    return {}
