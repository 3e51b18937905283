"""The Verilog of other ports around a system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import ClockDomain, ClockSignal, Instance, Module, ResetSignal, Signal, Value
from amaranth.lib.wiring import connect

from hw.dma.axi import Axi4LiteSignature, Axi4Signature, connect_flat, flat_ports
from hw.dma.registers import RegisterMap
from hw.ports.spec import PortError, SystemPorts
from hw.ports.window import AddressWindow, LiteSplit, base_registers
from hw.ports.wishbone import AxiToWishbone, WishboneToAxiLite
from hw.sim.ports import module_ports
from hw.verilog import convert

__all__ = ["AdaptedSystem", "adapt_system", "adapted_registers"]


@dataclass(frozen=True)
class AdaptedSystem:
    """A system with other ports: `module` is the top, one of those in `sources`. `base`: byte offset of the register
    MEMORY_BASE_LOW, if there is one."""

    module: str
    sources: Mapping[str, str]
    ports: SystemPorts
    base: int | None


def adapted_registers(registers: RegisterMap, ports: SystemPorts) -> RegisterMap:
    """`registers` with those of the base address, if there are any, behind them."""
    if ports.address_bits == 32:
        return registers
    return replace(registers, registers=(*registers.registers, *base_registers(2 << registers.address_width)))


def adapt_system(module: str, sources: Mapping[str, str], ports: SystemPorts) -> AdaptedSystem:
    """The system `module` of `sources`, an emitted one, behind `ports`. Its top is called ``MODULE_ports``; its ports
    are ``clk``, ``rst`` or ``rst_n``, ``irq``, ``m_axi_*`` or ``m_wb_*``, ``s_axil_*`` or ``s_wb_*``, and those of a
    serial line. Raises `PortError` where a port of the system is missing."""
    around = _Around(module, sources, ports)
    top, name = Module(), f"{module}_ports"
    top.domains.sync = domain = ClockDomain(local=True)
    clock, reset = Signal(name="clk"), Signal(name=ports.reset_name)
    top.d.comb += [domain.clk.eq(clock), domain.rst.eq(reset if ports.reset == "high" else ~reset)]
    outer = around.build(top)
    text = convert(top, name, ports=[clock, reset, *outer])
    base = (2 << around.register_width) - 8 if ports.address_bits == 64 else None
    return AdaptedSystem(name, {**sources, f"{name}.v": text}, ports, base)


class _Around:
    def __init__(self, module: str, sources: Mapping[str, str], ports: SystemPorts):
        self._module, self._ports = module, ports
        found = {port.name: port.width or 1 for port in module_ports(sources.values(), module) or ()}
        for name in ("s_axil_awaddr", "m_axi_wdata", "clk", "rst", "irq"):
            if name not in found:
                raise PortError(f"module {module} has no port {name}, so no other ports can go around it")
        self.register_width, self._serial = found["s_axil_awaddr"], "uart_tx" in found
        self._lite = Axi4LiteSignature(address_width=self.register_width)
        self._axi = Axi4Signature(address_width=32, data_width=found["m_axi_wdata"])

    def build(self, m: Module) -> list[Signal]:
        """Everything between the system and its new ports, which are the result."""
        memory, control, others = self._system(m)
        width = self._lite.address_width
        if self._ports.address_bits == 64:
            m.submodules.window = window = AddressWindow(self._axi.data_width, width)
            m.submodules.split = split = LiteSplit(width)
            connect(m, memory, window.i)
            connect(m, split.low, control)
            connect(m, split.high, window.s_axil)
            memory, control, width = window.o, split.bus, width + 1
        return [*others, *self._memory(m, memory), *self._control(m, control, width)]

    def _system(self, m: Module) -> tuple[Any, Any, list[Signal]]:
        """The instance: its memory and registers as interfaces, and what goes straight to ports."""
        irq = Signal(name="irq")
        memory: Any = self._axi.create(path=("memory",))
        control: Any = self._lite.flip().create(path=("control",))
        pins: dict[str, Any] = {"i_clk": ClockSignal(), "i_rst": ResetSignal(), "o_irq": irq}
        for interface, prefix, manager in ((memory, "m_axi", True), (control, "s_axil", False)):
            for signal, part, driven in flat_ports(interface, prefix, manager=manager):
                pins[f"{'o' if driven else 'i'}_{signal.name}"] = part
        others = [irq]
        if self._serial:
            lines = {"o_uart_tx": Signal(name="uart_tx"), "i_uart_rx": Signal(name="uart_rx")}
            pins, others = pins | lines, [irq, *lines.values()]
        m.submodules.system = Instance(self._module, **pins)
        return memory, control, others

    def _memory(self, m: Module, memory: Any) -> list[Signal]:
        if self._ports.memory == "axi":
            return connect_flat(m, memory, "m_axi", manager=True)
        m.submodules.memory = bridge = AxiToWishbone(self._ports.address_bits, self._axi.data_width)
        connect(m, memory, bridge.axi)
        return _flat_wishbone(m, bridge.wishbone, "m_wb", manager=True)

    def _control(self, m: Module, control: Any, width: int) -> list[Signal]:
        if self._ports.control == "axi":
            return connect_flat(m, control, "s_axil", manager=False)
        m.submodules.control = bridge = WishboneToAxiLite(width)
        connect(m, bridge.axi, control)
        return _flat_wishbone(m, bridge.wishbone, "s_wb", manager=False)


def _flat_wishbone(m: Module, interface: Any, prefix: str, *, manager: bool) -> list[Signal]:
    """New signals called ``m_wb_adr`` and so on, tied to `interface` of the component that is the manager (or not)."""
    signals = []
    for name in interface.signature.members:
        part = getattr(interface, name)
        signal = Signal(len(Value.cast(part)), name=f"{prefix}_{name}")
        driven = (name not in ("dat_r", "ack", "err", "stall")) == manager
        m.d.comb += signal.eq(part) if driven else part.eq(signal)
        signals.append(signal)
    return signals
