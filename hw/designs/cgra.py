"""The array of a design with its system, as Verilog."""

from __future__ import annotations

from hw.designs.directory import DesignImage
from hw.designs.parameters import fabric_spec
from hw.designs.system import SystemDesign
from hw.fabric.control_registers import control_registers
from hw.fabric.system import SYSTEM_MODULE, emit_system

__all__ = ["cgra_design"]


def cgra_design(image: DesignImage) -> SystemDesign:
    """The Verilog of the array that `image` is for, and its registers. Raises `DesignError`."""
    spec = fabric_spec(image)
    return SystemDesign(image, control_registers(spec), SYSTEM_MODULE, emit_system(spec))
