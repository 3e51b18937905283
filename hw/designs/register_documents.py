"""The register map of an array as files that belong to a design: a C header and a page to read."""

from __future__ import annotations

from hw.fabric.control_registers import control_registers
from hw.fabric.spec import FabricSpec

__all__ = ["register_documents"]


def register_documents(spec: FabricSpec) -> dict[str, str]:
    """The control registers of an array of `spec`, by paths in the design directory."""
    registers = control_registers(spec)
    title = f"# Control registers of the {spec} array\n\nByte offsets; 32 bits each.\n\n"
    return {"rtl/registers.h": registers.c_header(), "rtl/registers.md": title + registers.markdown()}
