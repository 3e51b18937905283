"""What the board build needs to know about a design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hw.designs.directory import DesignImage
from hw.dma.registers import RegisterMap

__all__ = ["SystemDesign"]


@dataclass(frozen=True)
class SystemDesign:
    """A system in Verilog and what to run on it.

    `module` is the top module, one of those in `sources` (text by file name). Its ports are those of
    `hw.boards.core.EmittedSystem`; `registers` describes its AXI4-Lite registers, which have a register STATUS with a
    field error. `image` is what the board runs.
    """

    image: DesignImage
    registers: RegisterMap
    module: str
    sources: Mapping[str, str]
