"""The host's view of a dataflow kernel: its AXI4-Lite registers (32-bit words, byte offsets)."""

from __future__ import annotations

from enum import IntEnum

from hw.dataflow.spec import KernelPorts
from hw.dma.registers import RUN_CONTROL, RUN_STATUS, Field, Register, RegisterMap
from hw.dma.watchdog import watchdog_register

__all__ = ["IDENTITY", "RunError", "dataflow_registers", "element_bytes"]

IDENTITY = 0x534C5546
"""ASCII "SLUF": what register ID reads."""

VERSION = 0x0002_0000

STREAM_BASE = 0x100


class RunError(IntEnum):
    """Why a run ended early."""

    NONE = 0
    READ = 1
    """Memory answered a read with SLVERR or DECERR."""
    WRITE = 2
    """Memory answered a write with SLVERR or DECERR."""
    SIZE = 3
    """A size, or a length of a stream, is none that the kernel is made for."""
    ABORTED = 4
    """The host wrote CONTROL.clear during a run."""
    WATCHDOG = 5
    """Nothing moved for as many clock cycles as register WATCHDOG allows."""
    ADDRESS = 6
    """A stream goes beyond the last address of memory."""
    INDEX = 7
    """An access was outside of its array; registers TRAP_ACCESS and TRAP_INDEX say where."""


_STATUS = (
    *RUN_STATUS,
    Field("kernel", 3, 1, "the kernel has ticks left"),
    Field("error", 8, 8, "why the run ended early", RunError),
)

_WAITING = (
    Field("inputs", 0, 16, "input streams (one bit each, the first 16) with words that have not come"),
    Field("outputs", 16, 16, "output streams with words that memory has not acknowledged"),
)

_TRAPS = (
    Register("TRAP_ACCESS", 0x24, "read", "number of the load or store that was outside of its array"),
    Register("TRAP_INDEX", 0x28, "read", "the index that it had, as a number with sign"),
)


def dataflow_registers(ports: KernelPorts) -> RegisterMap:
    """The registers of a kernel with these ports: control, counters, the byte address of every stream in memory; for a
    kernel with run-time sizes these, and the length of every stream; for one with traps where an access was outside."""
    streams = [*((f"IN{k}", "input", s) for k, s in enumerate(ports.inputs)),
               *((f"OUT{k}", "output", s) for k, s in enumerate(ports.outputs))]
    wanted = [(f"{name}_ADDRESS", f"byte address of the words of {kind} {s.name}") for name, kind, s in streams]
    if ports.sizes:
        wanted += [(f"{name}_WORDS", f"words of {kind} {s.name}, at most {s.words}") for name, kind, s in streams]
        wanted += [(f"SIZE{k}", f"size {s.name}, {s.minimum} to {s.maximum}") for k, s in enumerate(ports.sizes)]
    own = [Register(name, STREAM_BASE + 4 * k, "write", text, is_address=name.endswith("_ADDRESS"))
           for k, (name, text) in enumerate(wanted)]
    fixed = (
        Register("ID", 0x00, "constant", "identification", reset=IDENTITY),
        Register("VERSION", 0x04, "constant", "version of this register map", reset=VERSION),
        Register("CONTROL", 0x10, "pulse", "commands", RUN_CONTROL),
        Register("STATUS", 0x14, "read", "state of the run", _STATUS),
        Register("WAITING", 0x18, "read", "transfers that are not complete", _WAITING),
        watchdog_register(0x20),
        *(_TRAPS if ports.traps else ()),
        Register("TICKS", 0x40, "read", "steps of the kernel"),
        Register("STALLS", 0x44, "read", "clock cycles in which the kernel stood still for a stream"),
        Register("WALL_CYCLES", 0x48, "read", "clock cycles from start to done"),
    )
    return RegisterMap("dataflow", (*fixed, *own), ())


def element_bytes(width: int) -> int:
    """Bytes that a word of `width` bits (1 to 64) takes in memory: a power of two."""
    return max(1, 1 << (width - 1).bit_length() >> 3)
