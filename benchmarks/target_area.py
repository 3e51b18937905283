"""Area and clock rate of the same programs on every target, for `benchmarks.targets`.

Of a target that makes hardware out of a program, the whole system is measured: data path, DMA and registers. A target
that makes a configuration or machine code has the same hardware for every program; its figures are those that
`benchmarks.area` has measured of it, and ``of`` says of what.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.area import GENERATED_MHZ, Subject, measure, yosys_area
from benchmarks.results import read_results
from benchmarks.systolic_area import PLACER
from compiler.bind.cgra.design import CgraDesign
from compiler.bind.dataflow.stream_design import StreamDesign
from compiler.bind.design import Design
from compiler.bind.fpga.design import FpgaDesign
from compiler.bind.systolic.design import SystolicDesign
from compiler.bind.vector.design import VectorDesign
from hw.dataflow.system import SYSTEM_MODULE as DATAFLOW
from hw.errors import SluiceError
from hw.fabric.spec import TileKind
from hw.pipeline.system import SYSTEM_MODULE as PIPELINE
from hw.systolic.system import SYSTEM_MODULE as SYSTOLIC

__all__ = ["PARTS", "design_area", "design_mhz", "generated_subject"]

_COUNTS = ("lut", "ff", "block_ram", "lut_ram", "multipliers")
_GENERATED: Mapping[type[Design], str] = {StreamDesign: DATAFLOW, FpgaDesign: PIPELINE, SystolicDesign: SYSTOLIC}
"""Kinds of designs that are hardware, and the name of their system's module."""


class AreaError(SluiceError):
    """A machine that has not been measured."""


def design_area(design: Design) -> dict[str, Any]:
    """Cells by yosys for an ECP5 (see `yosys_area`), or those of the machine. Raises `PnrError`, `AreaError`."""
    subject = generated_subject(design)
    return yosys_area(subject) if subject else _machine_area(design)


def design_mhz(design: Design) -> dict[str, Any]:
    """``mhz`` on an ECP5-85, routed, or that of the machine. What `benchmarks.dataflow` has measured of the same
    hardware is not measured again. Raises `PnrError`, `AreaError`."""
    subject = generated_subject(design)
    if subject is None:
        return _machine_mhz(design)
    known = [row for row in read_results("dataflow").get("area", {}).values() if row.get("sources") == subject.digest]
    placer = PLACER if isinstance(design, SystolicDesign) else None
    return {"mhz": (known[0] if known else measure(subject, placer=placer))["mhz"]}


PARTS: Mapping[str, Callable[[Design], dict[str, Any]]] = {"area": design_area, "mhz": design_mhz}
"""What can be measured of a design beside its cycles."""


def generated_subject(design: Design) -> Subject | None:
    """A design's own hardware, if it has some."""
    for kind, module in _GENERATED.items():
        if isinstance(design, kind):
            executable: Any = getattr(design, "executable")  # noqa: B009
            return Subject(module, executable.sources, alone=False, target_mhz=GENERATED_MHZ)
    return None


def _machine_area(design: Design) -> dict[str, Any]:
    machines = _machines(design)
    total = {name: sum(number * _measured(module)[name] for module, number in machines.items()) for name in _COUNTS}
    return total | {"of": " + ".join(f"{number} x {module}" for module, number in machines.items())}


def _machine_mhz(design: Design) -> dict[str, Any]:
    slowest = min(_machines(design), key=lambda module: _measured(module)["mhz"])
    return {"mhz": _measured(slowest)["mhz"], "of": slowest}


def _machines(design: Design) -> dict[str, int]:
    """The modules of `benchmarks.area` that a design runs on, and how many of each."""
    if isinstance(design, CgraDesign):
        kinds = {TileKind.PE: "pe_tile", TileKind.MEM: f"mem_tile_{design.spec.mem.kind.replace('-', '_')}"}
        return {module: len(design.spec.tiles(kind)) for kind, module in kinds.items()}
    if isinstance(design, VectorDesign):
        return {f"vector_{design.resources['lanes']}": 1}
    raise AreaError(f"there is no area of a {type(design).__name__}")


def _measured(module: str) -> dict[str, Any]:
    try:
        return read_results("area")["modules"][module]
    except KeyError:
        raise AreaError(f"{module} is not measured: type  python -m benchmarks.area {module}") from None
