"""How a run of the processor system ends, and what it does."""

from __future__ import annotations

from amaranth.lib import enum

__all__ = ["Phase", "RunError"]


class RunError(enum.IntEnum, shape=8):
    """Register STATUS, field error."""

    NONE = 0
    EXIT_CODE = 1
    """The program ended by itself with an exit code other than 0."""

    TRAP = 2
    """The core took a trap; registers TRAP_* and EXIT_CODE tell which."""

    FETCH = 3
    """Memory refused an instruction, or the program counter left main memory."""

    LOAD = 4
    """Memory refused a word to the core."""

    STORE = 5
    """Memory refused a word from the core."""

    PERIPHERAL = 6
    """The core accessed a peripheral register that does not exist."""

    ABORTED = 7
    """The host cleared the run."""

    PROGRAM = 8
    """The ideal dispatcher's program does not fit its memory, or is empty."""

    WATCHDOG = 9
    """Nothing moved for as many clock cycles as register WATCHDOG allows."""


class Phase(enum.IntEnum, shape=4):
    """Register DETAIL, field phase."""

    IDLE = 0
    RUN = 1
    STOP = 2
    """Waits until memory transactions and the vector unit have come to an end."""

    LOAD = 3
    """The ideal dispatcher fetches its program."""
