"""The host's view of the array: its AXI4-Lite registers (32-bit words, byte offsets)."""

from __future__ import annotations

from functools import cache

from hw.dma.registers import RUN_CONTROL, RUN_STATUS, Field, Register, RegisterMap, Window
from hw.dma.watchdog import watchdog_register
from hw.fabric.spec import FabricSpec
from hw.fabric.status import Phase, RunError, Waiting

__all__ = ["BANK_REGISTERS", "COLUMN_BITS", "IDENTITY", "NO_BANK", "VERSION", "control_registers"]

IDENTITY = 0x534C5543
"""ASCII "SLUC": what register ID reads."""

VERSION = 0x0001_0002
"""Major number in the upper, minor number in the lower half."""

COLUMN_BITS = 10
"""Bits of a bank's number (`FabricSpec.bank_slots`) in DETAIL and DMA: its column, if columns have one bank."""

NO_BANK = (1 << COLUMN_BITS) - 1
"""DETAIL.bank and DMA.*_bank when no bank is concerned."""

BANK_REGISTERS = (
    Register("BASE", 0x00, "write", "byte address of tile 0", is_address=True),
    Register("ROW_BYTES", 0x04, "write", "consecutive bytes per row (24 bits)"),
    Register("ROWS", 0x08, "write", "rows per plane (16 bits)"),
    Register("ROW_STRIDE", 0x0C, "write", "bytes from row to row"),
    Register("PLANES", 0x10, "write", "planes per tile (16 bits)"),
    Register("PLANE_STRIDE", 0x14, "write", "bytes from plane to plane"),
    Register("TILES0", 0x18, "write", "tiles of the fast tile level (16 bits)"),
    Register("TILE0_STRIDE", 0x1C, "write", "bytes from tile to tile of the fast level"),
    Register("TILES1", 0x20, "write", "tiles of the slow tile level (16 bits)"),
    Register("TILE1_STRIDE", 0x24, "write", "bytes from tile to tile of the slow level"),
    Register("BAND", 0x28, "write", "planes, else rows, else bytes of a row, that are one transfer (24 bits)"),
    Register("BAND_STRIDE", 0x2C, "write", "bytes from transfer to transfer of a tile"),
    Register("BAND_LINES", 0x30, "write", "words of the memory bus of a transfer in the bank"),
)
"""One descriptor window; the order is that of `DmaDescriptor.words`."""

_STATUS = (
    *RUN_STATUS,
    Field("error", 8, 8, "why the run ended early", RunError),
)

_DETAIL = (
    Field("phase", 0, 4, "what the controller does; after an error, what it did", Phase),
    Field("waiting", 4, 4, "what it waits for", Waiting),
    Field("bank", 8, COLUMN_BITS, "number of the bank that is waited for or at fault, 1023 if none"),
)

_DMA = (
    Field("read_bank", 0, COLUMN_BITS, "number of the bank being filled; 1023 is none or the configuration"),
    Field("read_busy", 10, 1, "the read engine has a job"),
    Field("read_outstanding", 12, 4, "read bursts without their last beat"),
    Field("write_bank", 16, COLUMN_BITS, "number of the bank being drained; 1023 is none"),
    Field("write_busy", 26, 1, "the write engine has a job"),
    Field("write_outstanding", 28, 4, "write bursts without their response"),
)

_GEOMETRY = (
    Field("rows", 0, 16, "rows of tiles"),
    Field("columns", 16, 16, "columns of tiles"),
)


def _registers(spec: FabricSpec) -> tuple[Register, ...]:
    return (
        Register("ID", 0x00, "constant", "identification", reset=IDENTITY),
        Register("VERSION", 0x04, "constant", "version of this register map", reset=VERSION),
        Register("GEOMETRY", 0x08, "constant", "size of the array", _GEOMETRY, spec.rows | spec.columns << 16),
        Register("HALF_WORDS", 0x0C, "constant", "16-bit words in half a bank", reset=spec.glb.half_words),
        Register("CONTROL", 0x10, "pulse", "commands", RUN_CONTROL),
        Register("STATUS", 0x14, "read", "state of the run", _STATUS),
        Register("DETAIL", 0x18, "read", "what the run waits for", _DETAIL),
        Register("DMA", 0x1C, "read", "state of the burst engines", _DMA),
        Register("CONFIG_ADDRESS", 0x20, "write", "byte address of the configuration image", is_address=True),
        Register("CONFIG_WORDS", 0x24, "write", "32-bit words of the image; 0 keeps the configuration there is"),
        Register("PERIOD", 0x28, "write", "unstalled cycles from tile to tile (24 bits)"),
        Register("TILES", 0x2C, "write", "tiles of the run (16 bits)"),
        Register("RUN_CYCLES", 0x30, "write", "unstalled cycles of the run"),
        watchdog_register(0x34),
        Register("CYCLES", 0x40, "read", "unstalled cycles issued"),
        Register("STALLS", 0x44, "read", "clock cycles in which the run stood still for a bank"),
        Register("WALL_CYCLES", 0x48, "read", "clock cycles from the flush before the first cycle to the end"),
        Register("LOAD_CYCLES", 0x4C, "read", "clock cycles from the start to the flush"),
        Register("LAST_OUTPUT", 0x50, "read", "unstalled cycle in which the last word reached an output bank"),
    )


@cache
def control_registers(spec: FabricSpec) -> RegisterMap:
    """The control registers of an array. Those of window BANK in columns without a bank have no effect."""
    window = Window("BANK", 0x1000, 0x40, spec.bank_slots, "DMA descriptor of one column's bank", BANK_REGISTERS)
    return RegisterMap("sluice", _registers(spec), (window,))
