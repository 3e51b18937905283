"""The host's view of a pipeline: its AXI4-Lite registers (32-bit words, byte offsets)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from hw.dma.registers import RUN_CONTROL, RUN_STATUS, Field, Register, RegisterMap
from hw.dma.watchdog import watchdog_register

__all__ = ["IDENTITY", "RunError", "pipeline_registers"]

IDENTITY = 0x534C5550
"""ASCII "SLUP": what register ID reads."""

VERSION = 0x0001_0001

INPUT_BASE, OUTPUT_BASE = 0x100, 0x200


class RunError(IntEnum):
    """Why a run ended early."""

    NONE = 0
    READ = 1
    """Memory answered a read with SLVERR or DECERR."""
    WRITE = 2
    """Memory answered a write with SLVERR or DECERR."""
    ABORTED = 3
    """The host wrote CONTROL.clear during a run."""
    WATCHDOG = 4
    """Nothing moved for as many clock cycles as register WATCHDOG allows."""
    ADDRESS = 5
    """An array goes beyond the last address of memory."""
    INDEX = 6
    """An access was outside of its array; registers TRAP_CELL and TRAP_INDEX say where."""


_STATUS = (
    *RUN_STATUS,
    Field("pipeline", 3, 1, "the pipeline has words to give away"),
    Field("error", 8, 8, "why the run ended early", RunError),
)

_WAITING = (
    Field("inputs", 0, 16, "input streams (one bit each, the first 16) with words that have not come"),
    Field("outputs", 16, 16, "output streams with words that memory has not acknowledged"),
)


_TRAPS = (
    Register("TRAP_CELL", 0x24, "read", "number of the cell whose access was outside of its array"),
    Register("TRAP_INDEX", 0x28, "read", "the index that it had, as a number with sign"),
)


def pipeline_registers(inputs: Sequence[str], outputs: Sequence[str], traps: bool = False) -> RegisterMap:
    """Control, counters, and the byte address of every array in memory; `inputs`, `outputs`: names of the streams.
    `traps`: accesses outside of an array are reported."""
    streams = [
        *(Register(f"IN{k}_ADDRESS", INPUT_BASE + 4 * k, "write", f"byte address of array {name}", is_address=True)
          for k, name in enumerate(inputs)),
        *(Register(f"OUT{k}_ADDRESS", OUTPUT_BASE + 4 * k, "write", f"byte address of array {name}", is_address=True)
          for k, name in enumerate(outputs)),
    ]
    fixed = (
        Register("ID", 0x00, "constant", "identification", reset=IDENTITY),
        Register("VERSION", 0x04, "constant", "version of this register map", reset=VERSION),
        Register("CONTROL", 0x10, "pulse", "commands", RUN_CONTROL),
        Register("STATUS", 0x14, "read", "state of the run", _STATUS),
        Register("WAITING", 0x18, "read", "transfers that are not complete", _WAITING),
        watchdog_register(0x20),
        *(_TRAPS if traps else ()),
        Register("CYCLES", 0x40, "read", "unstalled cycles, the last one that of the last word that is given away"),
        Register("STALLS", 0x44, "read", "clock cycles in which the pipeline stood still for memory"),
        Register("WALL_CYCLES", 0x48, "read", "clock cycles from start to done"),
    )
    return RegisterMap("pipeline", (*fixed, *streams), ())
