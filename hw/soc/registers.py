"""The registers of the processor system: the host's (AXI4-Lite) and the scalar core's peripherals."""

from __future__ import annotations

from functools import cache

from hw.dma.registers import RUN_CONTROL, RUN_STATUS, Field, Register, RegisterMap
from hw.dma.watchdog import watchdog_register
from hw.soc.status import Phase, RunError
from hw.vector_lanes.spec import VectorSpec

__all__ = ["IDENTITY", "PERIPHERALS", "PERIPHERAL_BASE", "VERSION", "host_registers"]

IDENTITY = 0x534C5556
"""ASCII "SLUV": what register ID reads."""

VERSION = 0x0001_0001
"""Major number in the upper, minor number in the lower half."""

PERIPHERAL_BASE = 0xF000_0000
"""Byte address of the peripherals in the core's address space."""

_STATUS = (
    *RUN_STATUS,
    Field("error", 8, 8, "why the run did not end well", RunError),
)

_DETAIL = (
    Field("phase", 0, 4, "what the system does", Phase),
    Field("fetch", 4, 1, "the core waits for an instruction"),
    Field("data", 5, 1, "the core waits for its data bus"),
    Field("command", 6, 1, "the core waits for the vector unit to take a custom instruction"),
    Field("vector", 7, 1, "the vector unit is busy"),
    Field("dma", 8, 1, "transfers are under way"),
    Field("memory", 9, 1, "memory transactions of the core are outstanding"),
)

_VECTOR_STATUS = (
    Field("illegal", 0, 1, "an illegal vector instruction was dropped"),
    Field("address", 1, 1, "an address was outside the scratchpad"),
    Field("dma_read", 2, 1, "memory refused a word to the DMA engine"),
    Field("dma_write", 3, 1, "memory refused a word from the DMA engine"),
)

_GEOMETRY = (
    Field("lanes", 0, 8, "vector lanes of 32 bits"),
    Field("beat_bytes", 8, 8, "bytes of a beat of main memory"),
)


@cache
def host_registers(spec: VectorSpec) -> RegisterMap:
    """The host's registers of a system with the vector processor `spec`."""
    geometry = spec.lanes | spec.memory_bytes << 8
    return RegisterMap("vector", (
        Register("ID", 0x00, "constant", "identification", reset=IDENTITY),
        Register("VERSION", 0x04, "constant", "version of this register map", reset=VERSION),
        Register("GEOMETRY", 0x08, "constant", "size of the vector unit", _GEOMETRY, geometry),
        Register("SCRATCHPAD", 0x0C, "constant", "bytes of the scratchpad", reset=spec.capacity),
        Register("CONTROL", 0x10, "pulse", "commands", RUN_CONTROL),
        Register("STATUS", 0x14, "read", "state of the run", _STATUS),
        Register("DETAIL", 0x18, "read", "what the run is doing", _DETAIL),
        Register("FETCH", 0x1C, "read", "byte address of the cache line that the core fetched last"),
        Register("PROGRAM", 0x20, "write", "byte address at which the program begins", is_address=True),
        Register("ENTRIES", 0x24, "write", "entries of the ideal dispatcher's program"),
        Register("EXIT_CODE", 0x28, "read", "what the program wrote to FINISH"),
        Register("TRAP_CAUSE", 0x2C, "read", "mcause of a trap"),
        Register("TRAP_PC", 0x30, "read", "mepc of a trap"),
        Register("TRAP_VALUE", 0x34, "read", "mtval of a trap"),
        Register("UART_DIVISOR", 0x38, "write", "clock cycles per bit of serial output; 0: off"),
        watchdog_register(0x3C),
        Register("CYCLES", 0x40, "read", "clock cycles from the start to the end, low word"),
        Register("CYCLES_HIGH", 0x44, "read", "high word of CYCLES"),
        Register("KERNEL_CYCLES", 0x48, "read", "clock cycles between the program's marks, low word"),
        Register("KERNEL_CYCLES_HIGH", 0x4C, "read", "high word of KERNEL_CYCLES"),
        Register("VECTOR_STATUS", 0x50, "read", "what the vector unit refused", _VECTOR_STATUS),
        Register("VECTOR_INSTRUCTIONS", 0x54, "read", "vector instructions executed"),
        Register("VECTOR_BUSY", 0x58, "read", "clock cycles in which the lanes took a wavefront"),
        Register("VECTOR_BUBBLES", 0x5C, "read", "clock cycles in which a hazard held the lanes"),
        Register("DMA_CYCLES", 0x60, "read", "clock cycles in which a transfer was under way"),
    ))


PERIPHERALS = RegisterMap("peripheral", (
    Register("UART", 0x00, "write", "serial output: sends the low byte; waits for room in the queue"),
    Register("CYCLE", 0x04, "read", "clock cycles since the start, low word; keeps the high word for CYCLE_HIGH"),
    Register("CYCLE_HIGH", 0x08, "read", "high word when CYCLE was read last"),
    Register("MARK", 0x0C, "write", "1 begins, 0 ends a part of the program whose clock cycles are summed up"),
    Register("DRAIN", 0x10, "read", "0, as soon as all stores before are in main memory"),
    Register("TRAP_CAUSE", 0x14, "write", "for the host: mcause"),
    Register("TRAP_PC", 0x18, "write", "for the host: mepc"),
    Register("TRAP_VALUE", 0x1C, "write", "for the host: mtval"),
    Register("TRAP", 0x20, "write", "ends the run with an exit code, after a trap"),
    Register("FINISH", 0x24, "write", "ends the run with an exit code"),
    Register("RECEIVED", 0x28, "read", "serial input: takes a byte from the queue", (
        Field("byte", 0, 8, "the byte"),
        Field("valid", 8, 1, "there was one"),
    )),
))
"""The core's peripherals, at `PERIPHERAL_BASE`. Words only."""
