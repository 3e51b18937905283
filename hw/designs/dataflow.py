"""A dataflow kernel with its manager as a design for boards: its Verilog comes from the design directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hw.dataflow.registers import dataflow_registers
from hw.dataflow.spec import KernelPorts, SizeSpec, StreamSpec, Word
from hw.dataflow.system import SYSTEM_MODULE
from hw.designs.directory import DesignError, DesignImage, bus_width, read_text
from hw.designs.system import SystemDesign
from hw.dma.chunks import BUSES

__all__ = ["DATAFLOW", "DATAFLOW_SOURCE", "dataflow_design", "dataflow_parameters"]

DATAFLOW = "dataflow"
"""What `DesignImage.parameters` call the system."""

DATAFLOW_SOURCE = f"rtl/{SYSTEM_MODULE}.v"
"""Where the Verilog is in the directory."""


def dataflow_parameters(ports: KernelPorts, bus_bits: int) -> dict[str, Any]:
    """What `DesignImage.parameters` says about a kernel: that it is one, its run-time sizes, streams, traps and the
    width of its bus."""
    streams = {side: [[s.name, s.word.width, s.word.signed, s.words] for s in getattr(ports, side)]
               for side in ("inputs", "outputs")}
    return {"system": DATAFLOW, "sizes": [[s.name, s.minimum, s.maximum] for s in ports.sizes], **streams,
            "traps": ports.traps, "bus_bits": bus_bits}


def dataflow_design(image: DesignImage, directory: Path) -> SystemDesign:
    """The system that `image`, which was read from `directory`, is for. Raises `DesignError`."""
    ports = KernelPorts(tuple(SizeSpec(*entry) for entry in _entries(image, "sizes", (str, int, int))),
                        _streams(image, "inputs"), _streams(image, "outputs"), image.parameters.get("traps") is True)
    text = read_text(directory / DATAFLOW_SOURCE)
    return SystemDesign(image, dataflow_registers(ports), SYSTEM_MODULE, {f"{SYSTEM_MODULE}.v": text},
                        data_width=bus_width(image, BUSES))


def _streams(image: DesignImage, side: str) -> tuple[StreamSpec, ...]:
    return tuple(StreamSpec(name, Word(width, signed), words)
                 for name, width, signed, words in _entries(image, side, (str, int, bool, int)))


def _entries(image: DesignImage, key: str, kinds: tuple[type, ...]) -> list[list[Any]]:
    """A list of lists whose items are of these kinds."""
    found = image.parameters.get(key)
    good = isinstance(found, list) and all(
        isinstance(entry, list) and [type(item) for item in entry] == list(kinds) for entry in found)
    if not good:
        raise DesignError(f"parameters: {key} must be a list of [{', '.join(kind.__name__ for kind in kinds)}]")
    return found or []
