"""What runs on a board, whatever the board: system, on-chip memory, boot sequencer and self-check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import ClockSignal, Instance, Module, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.boards.boot import BootSequencer
from hw.boards.check import OutputCheck
from hw.boards.memory import OnChipMemory
from hw.designs.directory import DesignImage, OutputRegion
from hw.dma.axi import Axi4LiteSignature, Axi4Signature, flat_ports
from hw.dma.registers import RegisterMap

__all__ = ["STATUS_LIGHTS", "BoardCore", "CoreWithLights", "EmittedSystem", "resolve_plan", "system_signature"]

STATUS_LIGHTS = ("passed", "error", "busy", "done", "heartbeat")
"""Outputs of `BoardCore`, the most telling first: a board with fewer lights shows the first ones."""


def system_signature(
    address_width: int, id_width: int = 1, data_width: int = 64, serial: bool = False
) -> wiring.Signature:
    """The ports of a system: `m_axi` manager of main memory, `s_axil` registers, `irq`; `uart_tx` and `uart_rx` if it
    is `serial`.

    `address_width` is that of the registers, `data_width` that of memory; widths are in bits.
    """
    members: dict[str, wiring.Member] = {
        "m_axi": Out(Axi4Signature(address_width=32, data_width=data_width, id_width=id_width)),
        "s_axil": In(Axi4LiteSignature(address_width=address_width)),
        "irq": Out(1),
    }
    return wiring.Signature({**members, "uart_tx": Out(1), "uart_rx": In(1)} if serial else members)


class EmittedSystem(wiring.Component):
    """A system that exists as Verilog: one instance of module `name` with flat port names, ``clk`` and ``rst``.

    The other arguments are those of `system_signature`.
    """

    def __init__(self, name: str, address_width: int, **options: Any):
        self._name = name
        super().__init__(system_signature(address_width, **options))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ports: dict[str, Any] = {"i_clk": ClockSignal(), "i_rst": ResetSignal(), "o_irq": self.irq}
        for prefix, manager in (("m_axi", True), ("s_axil", False)):
            for signal, part, driven in flat_ports(getattr(self, prefix), prefix, manager=manager):
                ports[f"{'o' if driven else 'i'}_{signal.name}"] = part
        if "uart_tx" in self.signature.members:
            ports |= {"o_uart_tx": self.uart_tx, "i_uart_rx": self.uart_rx}
        m.submodules.system = Instance(self._name, **ports)
        return m


def resolve_plan(registers: RegisterMap, image: DesignImage) -> list[tuple[int, int]]:
    """The plan's writes with byte offsets for names. Raises `RegisterError` for a name that the map does not have."""
    return [(registers.address(name) if isinstance(name, str) else name, value) for name, value in image.plan]


class CoreWithLights(wiring.Component):
    """What a board's top goes around: outputs `STATUS_LIGHTS`, of which `heartbeat` toggles every 2^`heartbeat_bits`
    cycles, a serial line `uart_tx`, `uart_rx`, and `others`. `serial`: whether the line leads anywhere."""

    serial: bool

    def __init__(self, heartbeat_bits: int, others: Mapping[str, wiring.Member] | None = None):
        self._heartbeat_bits = heartbeat_bits
        lines = {name: Out(1) for name in (*STATUS_LIGHTS, "uart_tx")} | {"uart_rx": In(1)}
        super().__init__(lines | dict(others or {}))

    def _beat(self, m: Module) -> None:
        ticks = Signal(self._heartbeat_bits + 1)
        m.d.sync += ticks.eq(ticks + 1)
        m.d.comb += self.heartbeat.eq(ticks[-1])


class BoardCore(CoreWithLights):
    """A system with on-chip main memory that runs one design by itself after reset and checks the results.

    In order: the output regions are cleared, the plan's register writes are played, the interrupt ends the run, the
    checksums of the output regions are compared with the expected ones.

    `system` is a component with `system_signature`. Ports, one per status LED:
        heartbeat: toggles every 2^`heartbeat_bits` cycles.
        busy: clearing, running or checking.
        done: all of it has ended, well or not.
        error: a register write, the run or the check went wrong, or the run did not end within `timeout` cycles.
        passed: every output has the expected checksum. Stays low if the design expects none.
    And `uart_tx`, `uart_rx`, the system's serial line, high if it has none.
    """

    def __init__(
        self,
        system: Any,
        image: DesignImage,
        registers: RegisterMap,
        *,
        heartbeat_bits: int = 24,
        timeout: int = 1 << 30,
    ):
        self._system = system
        self._image = image
        self._registers = registers
        self._timeout = timeout
        self.serial = "uart_tx" in system.signature.members
        super().__init__(heartbeat_bits)

    @property
    def checked(self) -> tuple[OutputRegion, ...]:
        """The outputs whose checksum is compared."""
        return tuple(region for region in self._image.outputs if region.crc32 is not None)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.system = system = self._system
        id_width = system.m_axi.signature.id_width
        beat_bytes = system.m_axi.signature.data_width // 8
        memory = OnChipMemory(
            self._image.memory_bytes, self._image.memory_image(), beat_bytes=beat_bytes, id_width=id_width
        )
        m.submodules.memory = memory
        m.submodules.boot = boot = self._sequencer(system)
        m.submodules.check = check = OutputCheck(self._image.outputs, beat_bytes)
        wiring.connect(m, system.m_axi, memory.bus)
        wiring.connect(m, boot.bus, system.s_axil)
        m.d.comb += [
            boot.irq.eq(system.irq),
            memory.side_request.eq(check.side_request),
            memory.side_address.eq(check.side_address),
            memory.side_clear.eq(check.side_clear),
            check.side_data.eq(memory.side_data),
            self.uart_tx.eq(system.uart_tx if self.serial else 1),
        ]
        if self.serial:
            m.d.comb += system.uart_rx.eq(self.uart_rx)
        self._control(m, boot, check)
        self._beat(m)
        return m

    def _sequencer(self, system: Any) -> BootSequencer:
        error = self._registers.register("STATUS").field("error")
        return BootSequencer(
            resolve_plan(self._registers, self._image),
            address_width=system.s_axil.signature.address_width,
            status=self._registers.address("STATUS"),
            error_bits=(error.low, error.width),
            timeout=self._timeout,
        )

    def _control(self, m: Module, boot: BootSequencer, check: OutputCheck) -> None:
        with m.FSM():
            with m.State("CLEAR"):
                m.d.comb += [self.busy.eq(1), check.clear.eq(1)]
                with m.If(check.done):
                    m.next = "RUN"
            with m.State("RUN"):
                m.d.comb += [self.busy.eq(1), boot.start.eq(1)]
                with m.If(boot.done):
                    m.next = "CHECK"
                with m.If(boot.error):
                    m.next = "END"
            with m.State("CHECK"):
                m.d.comb += [self.busy.eq(1), check.check.eq(1)]
                with m.If(check.done):
                    m.next = "END"
            with m.State("END"):
                wrong = 0 if not self.checked else ~check.passed
                m.d.comb += [
                    self.done.eq(1),
                    self.passed.eq(check.passed & ~boot.error),
                    self.error.eq(boot.error | wrong),
                ]
