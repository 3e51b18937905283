"""A specialised pipeline as a design for boards: its Verilog comes from the design directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hw.designs.directory import DesignError, DesignImage, read_text
from hw.designs.system import SystemDesign
from hw.dma.chunks import BUSES
from hw.pipeline.registers import pipeline_registers
from hw.pipeline.system import SYSTEM_MODULE, SystemSpec

__all__ = ["PIPELINE", "pipeline_design", "pipeline_parameters"]

PIPELINE = "pipeline"
"""What `DesignImage.parameters` call the system."""

_SOURCE = f"rtl/{SYSTEM_MODULE}.v"


def pipeline_parameters(spec: SystemSpec) -> dict[str, Any]:
    """What `DesignImage.parameters` says about a pipeline: that it is one, its streams, the width of its bus."""
    return {"system": PIPELINE, "inputs": [s.name for s in spec.inputs], "outputs": [s.name for s in spec.outputs],
            "bus_bits": spec.bus_bits, "traps": spec.pipeline.traps}


def pipeline_design(image: DesignImage, directory: Path) -> SystemDesign:
    """The system that `image`, which was read from `directory`, is for. Raises `DesignError`."""
    inputs, outputs = (_names(image, side) for side in ("inputs", "outputs"))
    width = image.parameters.get("bus_bits")
    if width not in BUSES:
        *most, last = map(str, BUSES)
        raise DesignError(f"parameters: bus_bits is {width!r}, must be {', '.join(most)} or {last}")
    text = read_text(directory / _SOURCE)
    registers = pipeline_registers(inputs, outputs, image.parameters.get("traps") is True)
    return SystemDesign(image, registers, SYSTEM_MODULE, {f"{SYSTEM_MODULE}.v": text}, data_width=width)


def _names(image: DesignImage, side: str) -> list[str]:
    names = image.parameters.get(side)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DesignError(f"parameters: {side} must be a list of names")
    return names
