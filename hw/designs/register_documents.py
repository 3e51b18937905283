"""Files that belong to a design: the register map as a C header and as a page to read, and Verilog."""

from __future__ import annotations

from collections.abc import Mapping

from hw.dma.registers import RegisterMap
from hw.fabric.control_registers import control_registers
from hw.fabric.spec import FabricSpec

__all__ = ["register_documents", "system_documents"]


def register_documents(spec: FabricSpec) -> dict[str, str]:
    """The control registers of an array of `spec`, by paths in the design directory."""
    return system_documents({}, control_registers(spec), f"{spec} array")


def system_documents(sources: Mapping[str, str], registers: RegisterMap, what: str) -> dict[str, str]:
    """Verilog and the control registers of a system, by paths in the design directory. `what` the page calls it."""
    title = f"# Control registers of the {what}\n\nByte offsets; 32 bits each.\n\n"
    documents = {"rtl/registers.h": registers.c_header(), "rtl/registers.md": title + registers.markdown()}
    return {f"rtl/{name}": text for name, text in sources.items()} | documents
