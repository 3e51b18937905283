"""What the board build needs to know about a design."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hw.designs.directory import DesignImage
from hw.dma.registers import RegisterMap

__all__ = ["SystemDesign", "fingerprint_of"]

_BAUD = 115_200


@dataclass(frozen=True)
class SystemDesign:
    """A system in Verilog and what to run on it.

    `module` is the top module, one of those in `sources` (text by file name). Its ports are those of
    `hw.boards.core.EmittedSystem`; `registers` describes its AXI4-Lite registers, which have a register STATUS with a
    field error. `image` is what the board runs. `data_width`: bits of main memory. `serial`: there are ports `uart_tx`
    and `uart_rx`; register UART_DIVISOR then gets the clock cycles of a bit before the plan begins (`at_clock`).
    """

    image: DesignImage
    registers: RegisterMap
    module: str
    sources: Mapping[str, str]
    data_width: int = 64
    serial: bool = False

    @property
    def fingerprint(self) -> bytes:
        """16 bytes that tell the system from others; see `fingerprint_of`."""
        return fingerprint_of(self.module, self.sources)

    def at_clock(self, hz: float) -> SystemDesign:
        """The design for a core clock of `hz`: serial output has 115 200 bits per second."""
        if not self.serial:
            return self
        divisor = max(1, round(hz / _BAUD))
        return replace(self, image=replace(self.image, plan=(("UART_DIVISOR", divisor), *self.image.plan)))


def fingerprint_of(module: str, sources: Mapping[str, str]) -> bytes:
    """16 bytes of the SHA-256 of a system's Verilog: its top module's name, then file names and texts in order."""
    digest = hashlib.sha256(module.encode())
    for name, text in sorted(sources.items()):
        digest.update(f"\0{name}\0{text}".encode())
    return digest.digest()[:16]
