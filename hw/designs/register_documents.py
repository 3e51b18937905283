"""Files that belong to a design: the register map as a C header and as a page to read, and Verilog."""

from __future__ import annotations

from collections.abc import Mapping

from hw.dma.registers import RegisterMap
from hw.drivers.fusesoc import fusesoc_core
from hw.drivers.ipxact import ipxact_component, module_ports, ports_summary
from hw.drivers.litex import litex_documents
from hw.drivers.system_rdl import system_rdl
from hw.fabric.control_registers import control_registers
from hw.fabric.spec import FabricSpec

__all__ = ["register_documents", "system_documents"]


def register_documents(spec: FabricSpec) -> dict[str, str]:
    """The control registers of an array of `spec`, by paths in the design directory."""
    return _documents(control_registers(spec), f"{spec} array")


def system_documents(module: str, sources: Mapping[str, str], registers: RegisterMap, what: str) -> dict[str, str]:
    """Verilog with top `module`, the control registers of the system, and what other tools take it by (IP-XACT,
    FuseSoC, LiteX), by paths in the design directory. `what` the page calls the system."""
    ports = module_ports(sources, module)
    return {f"rtl/{name}": text for name, text in sources.items()} | _documents(registers, what) | {
        "component.xml": ipxact_component(module, sources, registers),
        f"{module}.core": fusesoc_core(module, sources, about=ports_summary(ports)),
        **litex_documents(module, sources, ports)}


def _documents(registers: RegisterMap, what: str) -> dict[str, str]:
    title = f"# Control registers of the {what}\n\nByte offsets; 32 bits each.\n\n"
    return {"rtl/registers.h": registers.c_header(), "rtl/registers.md": title + registers.markdown(),
            "rtl/registers.rdl": system_rdl(registers)}
