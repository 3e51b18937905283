"""The codes with which the array's controller tells the host what happened and what it waits for."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Phase", "RunError", "Waiting"]


class RunError(IntEnum):
    """Why a run ended early (register STATUS, field error)."""

    NONE = 0
    """No error."""
    CONFIGURATION_MAGIC = 1
    """The configuration image does not start with the magic number."""
    CONFIGURATION_COUNT = 2
    """The image's count does not fit CONFIG_WORDS."""
    CONFIGURATION_CHECKSUM = 3
    """The image's checksum is wrong: it is damaged."""
    READ_RESPONSE = 4
    """Memory answered a read with SLVERR or DECERR. DETAIL.bank tells which bank; 255 is the configuration."""
    WRITE_RESPONSE = 5
    """Memory answered a write with SLVERR or DECERR."""
    DESCRIPTOR = 6
    """The bank's descriptor has a zero count or a zero row length."""
    BANK_OVERFLOW = 7
    """A band of the bank is longer than half a bank."""
    RUN_TOO_SHORT = 8
    """RUN_CYCLES ended before a bank had made all accesses of all tiles."""
    PARAMETER = 9
    """PERIOD, TILES or RUN_CYCLES is zero, or has more bits than the register uses."""
    ARRAY_CONFLICT = 10
    """Two controllers of one memory tile or bank wanted the same port in the same cycle."""
    ABORTED = 11
    """The host wrote CONTROL.clear during a run."""
    BANK_OVERRUN = 12
    """A tile began before the bank had made all accesses of the tile before."""
    NOT_CONFIGURED = 13
    """No bank is switched on: the array has no configuration."""
    WATCHDOG = 14
    """Nothing moved for as many clock cycles as register WATCHDOG allows."""


class Phase(IntEnum):
    """What the controller does (register DETAIL, field phase)."""

    IDLE = 0
    CLEAR = 1
    """Resetting the array before a new configuration."""
    LOAD = 2
    """Reading the configuration image."""
    SETTLE = 3
    """Waiting until the last configuration word has reached its tile."""
    FLUSH = 4
    """Restarting every controller of the array."""
    RUN = 5
    """Issuing cycles."""
    DRAIN = 6
    """All cycles are issued; results are on their way to memory."""
    STOP = 7
    """An error came up; waiting for outstanding memory transactions."""


class Waiting(IntEnum):
    """What the current phase waits for (register DETAIL, field waiting)."""

    NOTHING = 0
    CONFIGURATION = 1
    """Memory has not delivered the next word of the configuration."""
    INPUT_BANK = 2
    """The input bank DETAIL.bank has no filled band."""
    OUTPUT_BANK = 3
    """The output bank DETAIL.bank has no free band."""
    WRITE_BACK = 4
    """The output bank DETAIL.bank still has results that are not in memory."""
    MEMORY = 5
    """Outstanding memory transactions."""
