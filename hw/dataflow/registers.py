"""The host's view of a dataflow kernel: its AXI4-Lite registers (32-bit words, byte offsets)."""

from __future__ import annotations

from enum import IntEnum

from hw.dataflow.spec import KernelSpec
from hw.dma.registers import Field, Register, RegisterMap

__all__ = ["IDENTITY", "RunError", "dataflow_registers", "element_bytes"]

IDENTITY = 0x534C5546
"""ASCII "SLUF": what register ID reads."""

VERSION = 0x0001_0000

INPUT_BASE, OUTPUT_BASE = 0x100, 0x200


class RunError(IntEnum):
    """Why a run ended early."""

    NONE = 0
    READ = 1
    WRITE = 2


_CONTROL = (
    Field("start", 0, 1, "1 starts a run; ignored while busy"),
    Field("clear", 1, 1, "1 clears done"),
)

_STATUS = (
    Field("busy", 0, 1, "a run is going on"),
    Field("done", 1, 1, "a run has ended, well or not; also the interrupt"),
    Field("kernel", 2, 1, "the kernel has ticks left"),
    Field("error", 8, 8, "why the run ended early", RunError),
)

_WAITING = (
    Field("inputs", 0, 16, "input streams (one bit each, the first 16) with words left to fetch"),
    Field("outputs", 16, 16, "output streams with words left to store"),
)


def dataflow_registers(spec: KernelSpec) -> RegisterMap:
    """The registers of the kernel `spec`: control, counters, and the byte address of every stream in memory."""
    streams = [
        *(Register(f"IN{k}_ADDRESS", INPUT_BASE + 4 * k, "write", f"byte address of the words of input {s.name}")
          for k, s in enumerate(spec.inputs)),
        *(Register(f"OUT{k}_ADDRESS", OUTPUT_BASE + 4 * k, "write", f"byte address of the words of output {s.name}")
          for k, s in enumerate(spec.outputs)),
    ]
    fixed = (
        Register("ID", 0x00, "constant", "identification", reset=IDENTITY),
        Register("VERSION", 0x04, "constant", "version of this register map", reset=VERSION),
        Register("CONTROL", 0x10, "pulse", "commands", _CONTROL),
        Register("STATUS", 0x14, "read", "state of the run", _STATUS),
        Register("WAITING", 0x18, "read", "transfers that are not complete", _WAITING),
        Register("TICKS", 0x40, "read", "steps of the kernel"),
        Register("STALLS", 0x44, "read", "clock cycles in which the kernel stood still for a stream"),
        Register("WALL_CYCLES", 0x48, "read", "clock cycles from start to done"),
    )
    return RegisterMap("dataflow", (*fixed, *streams), ())


def element_bytes(width: int) -> int:
    """Bytes that a word of `width` bits (1 to 64) takes in memory: a power of two."""
    return max(1, 1 << (width - 1).bit_length() >> 3)
