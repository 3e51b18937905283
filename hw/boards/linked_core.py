"""What runs on a board that a host talks to, whatever the board: system, on-chip memory, link."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring

from hw.boards.core import CoreWithLights
from hw.boards.memory import OnChipMemory
from hw.link.protocol import LinkSpec
from hw.link.uart_link import UartLink
from hw.soc.join import AxiJoin

__all__ = ["LinkedCore"]


class LinkedCore(CoreWithLights):
    """A system with on-chip main memory that does what a host on the serial line says. The host and the system share
    memory; the system goes first.

    `system` is a component with `hw.boards.core.system_signature`; `spec` says what the host sees of it, `divisor` how
    many clock cycles a bit of the line takes. Ports, one per status LED:
        heartbeat: toggles every 2^`heartbeat_bits` cycles.
        busy: a request is carried out or answered.
        done: the design's interrupt.
        error: a damaged frame has come since reset.
        passed: a host has greeted.
    And `uart_tx`, `uart_rx`, the line.
    """

    serial = True

    def __init__(self, system: Any, spec: LinkSpec, divisor: int, *, heartbeat_bits: int = 24):
        self._system = system
        self._spec = spec
        self._divisor = divisor
        super().__init__(heartbeat_bits)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spec = self._spec
        m.submodules.system = system = self._system
        m.submodules.link = link = UartLink(spec, self._divisor)
        m.submodules.memory = memory = OnChipMemory(
            spec.memory_bytes, beat_bytes=spec.data_width // 8, id_width=spec.id_width
        )
        m.submodules.join = join = AxiJoin(system.m_axi.signature, 2)
        wiring.connect(m, system.m_axi, join.manager[0])
        wiring.connect(m, link.memory, join.manager[1])
        wiring.connect(m, join.memory, memory.bus)
        wiring.connect(m, link.registers, system.s_axil)
        self._beat(m)
        with m.If(link.damaged):
            m.d.sync += self.error.eq(1)
        m.d.comb += [
            link.rx.eq(self.uart_rx),
            self.uart_tx.eq(link.tx),
            link.irq.eq(system.irq),
            self.busy.eq(link.busy),
            self.done.eq(system.irq),
            self.passed.eq(link.greeted),
        ]
        if "uart_rx" in system.signature.members:
            m.d.comb += system.uart_rx.eq(1)
        return m
