"""A specialised pipeline as a design for boards: its Verilog comes from the design directory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hw.designs.directory import DesignError, DesignImage
from hw.designs.system import SystemDesign
from hw.dma.registers import RegisterMap
from hw.pipeline.registers import pipeline_registers
from hw.pipeline.system import SYSTEM_MODULE, SystemSpec

__all__ = ["is_pipeline", "pipeline_design", "pipeline_documents", "pipeline_parameters"]

_SYSTEM = "pipeline"
_SOURCE = f"rtl/{SYSTEM_MODULE}.v"


def pipeline_parameters(spec: SystemSpec) -> dict[str, Any]:
    """What `DesignImage.parameters` says about a pipeline: that it is one, its streams, the width of its bus."""
    return {"system": _SYSTEM, "inputs": [s.name for s in spec.inputs], "outputs": [s.name for s in spec.outputs],
            "bus_bits": spec.bus_bits}


def pipeline_documents(sources: Mapping[str, str], registers: RegisterMap) -> dict[str, str]:
    """Verilog and control registers, by paths in the design directory."""
    title = "# Control registers of the pipeline\n\nByte offsets; 32 bits each.\n\n"
    documents = {"rtl/registers.h": registers.c_header(), "rtl/registers.md": title + registers.markdown()}
    return {f"rtl/{name}": text for name, text in sources.items()} | documents


def is_pipeline(image: DesignImage) -> bool:
    """Whether a design is a pipeline; otherwise it is for the array."""
    return image.parameters.get("system") == _SYSTEM


def pipeline_design(image: DesignImage, directory: Path) -> SystemDesign:
    """The system that `image`, which was read from `directory`, is for. Raises `DesignError`."""
    inputs, outputs = (_names(image, side) for side in ("inputs", "outputs"))
    width = image.parameters.get("bus_bits")
    if width not in (64, 128, 256, 512):
        raise DesignError(f"parameters: bus_bits is {width!r}, must be 64, 128, 256 or 512")
    try:
        text = (directory / _SOURCE).read_text()
    except OSError as error:
        raise DesignError(f"{directory / _SOURCE}: {error.strerror}") from error
    registers = pipeline_registers(inputs, outputs)
    return SystemDesign(image, registers, SYSTEM_MODULE, {f"{SYSTEM_MODULE}.v": text}, data_width=width)


def _names(image: DesignImage, side: str) -> list[str]:
    names = image.parameters.get(side)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DesignError(f"parameters: {side} must be a list of names")
    return names
