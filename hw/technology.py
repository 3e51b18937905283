"""FPGA families whose primitives the Verilog names itself, for tools that do not find a use for them.

A technology is what Amaranth calls a platform: `hw.verilog.convert` hands it to every component that is elaborated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from amaranth.hdl import Module

from hw.dataflow.operators import Unit
from hw.ecp5.products import multiplier_units
from hw.lib.taps import Taps

__all__ = ["ECP5", "GENERIC", "TECHNOLOGIES", "Technology", "technology_of"]


@dataclass(frozen=True)
class Technology:
    """`units`: operations that are built otherwise than for any FPGA (`hw.dataflow.operators.build_operators`);
    `models`: Verilog of its primitives for simulators, by file name, which synthesis must not read."""

    name: str
    units: Callable[[Module, Taps], Mapping[str, Unit]]
    models: Mapping[str, str] = field(default_factory=dict, hash=False)


def _no_units(m: Module, taps: Taps) -> Mapping[str, Unit]:
    return {}


_MODEL = Path(__file__).parent / "ecp5" / "mult18x18d.v"

GENERIC = Technology("generic", _no_units)
"""Any FPGA, and simulators."""

ECP5 = Technology("ecp5", multiplier_units, {_MODEL.name: _MODEL.read_text()})

TECHNOLOGIES: Mapping[str, Technology] = {technology.name: technology for technology in (GENERIC, ECP5)}
"""By name."""


def technology_of(platform: object) -> Technology:
    """That of a component's `platform`."""
    return platform if isinstance(platform, Technology) else GENERIC
