"""The host's view of a systolic array: its AXI4-Lite registers (32-bit words, byte offsets)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from hw.dma.registers import RUN_CONTROL, RUN_STATUS, Field, Register, RegisterMap
from hw.dma.watchdog import watchdog_register
from hw.systolic.spec import ArraySpec, SystolicError
from hw.systolic.tiles import EXTENT_BITS

__all__ = ["FIXED_REGISTERS", "IDENTITY", "RunError", "RunSettings", "run_writes", "systolic_registers"]

IDENTITY = 0x534C5553
"""ASCII "SLUS": what register ID reads."""

VERSION = 0x0001_0001

RESULT_BASE, BOUND_BASE, EXTENT_BASE, OPERAND_BASE, OPERAND_SIZE = 0x80, 0xC0, 0x100, 0x200, 0x40
_LOOPS = 15
"""Tile loops (and guards) that there are registers for."""


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


FIXED_REGISTERS = (
    Register("ID", 0x00, "constant", "identification", reset=IDENTITY),
    Register("VERSION", 0x04, "constant", "version of this register map", reset=VERSION),
    Register("CONTROL", 0x10, "pulse", "commands", RUN_CONTROL),
    Register("STATUS", 0x14, "read", "state of the run", (
        *RUN_STATUS,
        Field("loading", 3, 1, "memory owes answers to reads"),
        Field("storing", 4, 1, "results are still to be stored"),
        Field("error", 8, 8, "why the run ended early", RunError),
    )),
    Register("WAITING", 0x18, "read", "transfers that are not complete", (
        Field("inputs", 0, 16, "operands, then extras (one bit each, the first 16), with words that have not come"),
        Field("outputs", 16, 1, "results that memory has not acknowledged"),
    )),
    watchdog_register(0x20),
    Register("STEPS", 0x40, "read", "steps that have been given to the array"),
    Register("WALL_CYCLES", 0x44, "read", "clock cycles from start to done"),
    Register("COMPUTE_CYCLES", 0x48, "read",
             "clock cycles from the one in which the first PE takes its first words to the one in which the PE (or "
             "accumulator) in the far corner has completed the last result, both counted"),
    Register("ARRAY_CYCLES", 0x4C, "read",
             "the same to the one in which the last beat of results leaves the array"),
    Register("ENTRY_CYCLE", 0x50, "read",
             "clock cycles from start to the one in which the first PE takes its first words"),
)


def systolic_registers(spec: ArraySpec) -> RegisterMap:
    """The registers of the array `spec`: control, counters; extents of the tile loops, bounds of the guards; for every
    operand (then extra) and the result the byte address of the first tile, and byte strides by number of the loop."""
    if max(len(spec.tile_loops), len(spec.guards)) > _LOOPS:
        raise SystolicError(f"array {spec.name} has more than {_LOOPS} tile loops or guards")
    names = [loop.name for loop in spec.tile_loops]
    registers = [Register(f"EXTENT{k}", EXTENT_BASE + 4 * k, "write", f"tiles along loop {name}", reset=1)
                 for k, name in enumerate(names)]
    registers += [Register(f"BOUND{k}", BOUND_BASE + 4 * k, "write", f"indices of guard {guard.name}")
                  for k, guard in enumerate(spec.guards)]
    registers += _places("RESULT", RESULT_BASE, "results", spec.result_loops, names)
    for k, operand in enumerate(spec.streams):
        registers += _places(f"OPERAND{k}", OPERAND_BASE + k * OPERAND_SIZE, f"operand {operand.name}",
                             operand.tile_loops, names)
    return RegisterMap("systolic", (*FIXED_REGISTERS, *registers))


def _places(prefix: str, offset: int, what: str, loops: Sequence[int], names: Sequence[str]) -> list[Register]:
    """Base and strides; a stride's place is that of its loop, so it does not depend on the other ones."""
    strides = [Register(f"{prefix}_STRIDE{k}", offset + 4 * (k + 1), "write",
                        f"bytes from a tile of {what} to the next one along loop {names[k]}, signed")
               for k in sorted(set(loops))]
    base = Register(f"{prefix}_BASE", offset, "write", f"byte address of the first tile of {what}", is_address=True)
    return [base, *strides]


@dataclass(frozen=True)
class RunSettings:
    """What a run needs: `extents` of the tile loops, `bounds` of the guards; the byte address of the first tile and a
    stride in bytes for every tile loop (0 where there is none), for each operand (then extra) and for the result."""

    extents: tuple[int, ...]
    operands: tuple[tuple[int, tuple[int, ...]], ...]
    result: tuple[int, tuple[int, ...]]
    bounds: tuple[int, ...] = ()


def run_writes(spec: ArraySpec, settings: RunSettings) -> list[tuple[int, int]]:
    """(register, value) for a run, the start last. Raises `SystolicError` for what registers cannot hold."""
    registers = systolic_registers(spec)
    for loop, extent in zip(spec.tile_loops, settings.extents, strict=True):
        if not 1 <= extent < 1 << EXTENT_BITS:
            raise SystolicError(f"tile loop {loop.name} has extent {extent}, not 1 to {(1 << EXTENT_BITS) - 1}")
    values = {f"EXTENT{k}": extent for k, extent in enumerate(settings.extents)}
    values |= {f"BOUND{k}": bound for k, bound in enumerate(settings.bounds)}
    places = [("RESULT", settings.result), *((f"OPERAND{k}", place) for k, place in enumerate(settings.operands))]
    for prefix, (base, strides) in places:
        for name, value in ((f"{prefix}_BASE", base), *((f"{prefix}_STRIDE{k}", s) for k, s in enumerate(strides))):
            if value % spec.bus_bytes:
                raise SystolicError(f"{name} is {value}, not a multiple of the {spec.bus_bytes} bytes of a beat")
            if name in registers.addresses:
                values[name] = value
            elif value:
                raise SystolicError(f"{name} is {value}, but tiles do not change along that loop")
    writes = [(registers.address(name), value & 0xFFFF_FFFF) for name, value in values.items()]
    return [*writes, (registers.address("CONTROL"), registers.encode("CONTROL", start=1))]
