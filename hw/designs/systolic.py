"""A systolic array with its I/O network as a design for boards: its Verilog comes from the design directory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hw.designs.directory import DesignError, DesignImage, bus_width, read_text
from hw.designs.system import SystemDesign
from hw.dma.registers import Register, RegisterMap
from hw.systolic.registers import FIXED_REGISTERS
from hw.systolic.spec import BUSES
from hw.systolic.system import SYSTEM_MODULE

__all__ = ["SYSTOLIC", "systolic_design", "systolic_parameters"]

SYSTOLIC = "systolic"
"""What `DesignImage.parameters` call the system."""


def systolic_parameters(registers: RegisterMap, bus_bits: int, sources: Mapping[str, str]) -> dict[str, Any]:
    """What `DesignImage.parameters` says about an array: that it is one, the registers that it does not share with
    others, the width of its bus, its files."""
    fixed = {register.name for register in FIXED_REGISTERS}
    own = [[register.name, register.offset] for register in registers.registers if register.name not in fixed]
    return {"system": SYSTOLIC, "registers": own, "bus_bits": bus_bits, "sources": sorted(sources)}


def systolic_design(image: DesignImage, directory: Path) -> SystemDesign:
    """The system that `image`, which was read from `directory`, is for. Raises `DesignError`."""
    width, names = bus_width(image, BUSES), image.parameters.get("sources")
    if not isinstance(names, list) or not all(isinstance(n, str) and "/" not in n for n in names):
        raise DesignError("parameters: sources must be a list of file names")
    sources = {name: read_text(directory / "rtl" / name) for name in names}
    return SystemDesign(image, _registers(image), SYSTEM_MODULE, sources, data_width=width)


def _registers(image: DesignImage) -> RegisterMap:
    own = image.parameters.get("registers")
    good = isinstance(own, list) and all(
        isinstance(entry, list) and [type(item) for item in entry] == [str, int] for entry in own)
    if not good or own is None:
        raise DesignError("parameters: registers must be a list of [name, offset]")
    return RegisterMap("systolic", (*FIXED_REGISTERS, *(Register(name, offset, "write", "of this array")
                                                       for name, offset in own)))
