"""Faults of main memory in a simulated run: an error response, or a channel that comes to rest for ever.

`parse_fault` reads the text that ``design.simulate(..., inject=...)`` takes:

- ``"read a 3"``: the third beat that is read from array ``a`` is answered with SLVERR (without a number: the first);
- ``"write y"``: the same for a beat that is written to array ``y``;
- ``"stuck ar"``: memory takes no read address (``aw``: write address, ``w``: write data) or gives no answer (``r``:
  read data, ``b``: write response); ``"stuck w 5"``: after five transfers of that channel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hw.dma.registers import RegisterMap
from hw.errors import SluiceError

__all__ = ["CHANNELS", "NO_TRIAL", "ErrorResponse", "Fault", "JobError", "StuckChannel", "Trial", "parse_fault"]

CHANNELS = ("r", "ar", "b", "w", "aw")
"""Channels of AXI4, in the order of the bits in memory.v's `stuck`."""

_WATCHDOG_CYCLES = 10_000

_FORMS = "'read ARRAY [NUMBER]', 'write ARRAY [NUMBER]' or 'stuck CHANNEL [AFTER]'"


class JobError(SluiceError):
    """A job or its design does not fit the simulation harness."""


@dataclass(frozen=True)
class ErrorResponse:
    """SLVERR for beat `number` (from 1 on) that is read from, or written to (`write`), bytes `first` to `last`."""

    write: bool
    first: int
    last: int
    number: int = 1

    def plusargs(self) -> list[str]:
        """The settings as the harness reads them."""
        return [f"error_first={self.first:x}", f"error_last={self.last:x}", f"error_kinds={1 if self.write else 2}",
                f"error_number={self.number}"]


@dataclass(frozen=True)
class StuckChannel:
    """No beat passes on `channel` (of `CHANNELS`) any more `after` so many."""

    channel: str
    after: int = 0

    def plusargs(self) -> list[str]:
        """The settings as the harness reads them."""
        return [f"stuck={1 << CHANNELS.index(self.channel):x}", f"stuck_after={self.after}"]


Fault = ErrorResponse | StuckChannel


def parse_fault(text: str, areas: Mapping[str, tuple[int, int]]) -> Fault:
    """The fault that `text` describes; `areas`: (byte address, bytes) of every array in memory.

    Raises `JobError` for another form, an array that is not in memory, a channel that AXI4 does not have.
    """
    kind, *words = text.split() or [""]
    if kind not in ("read", "write", "stuck") or not 1 <= len(words) <= 2:
        raise JobError(f"fault '{text}' is none of {_FORMS}")
    number = _number(text, words[1]) if len(words) == 2 else None
    if kind == "stuck":
        if words[0] not in CHANNELS:
            raise JobError(f"fault '{text}': AXI4 has the channels {', '.join(sorted(CHANNELS))}, not {words[0]}")
        return StuckChannel(words[0], number or 0)
    if number == 0:
        raise JobError(f"fault '{text}': beats count from 1")
    if words[0] not in areas:
        raise JobError(f"fault '{text}': memory has the arrays {', '.join(sorted(areas))}, not {words[0]}")
    address, length = areas[words[0]]
    return ErrorResponse(kind == "write", address, address + length - 1, number or 1)


@dataclass(frozen=True)
class Trial:
    """What a run has beside its inputs: `inject`, a fault of main memory (`parse_fault`), and `watchdog`, the clock
    cycles without progress after which the hardware ends it. Without a number these are 10000 for a run with a fault,
    and without limit for others; 0 is without limit, too. Raises `JobError` for a number that the register cannot hold.
    """

    inject: str | None = None
    watchdog: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.cycles < 1 << 32:
            raise JobError(f"the watchdog's limit is {self.cycles} cycles, outside 0 to {(1 << 32) - 1}")

    @property
    def cycles(self) -> int:
        """What register WATCHDOG holds."""
        if self.watchdog is not None:
            return self.watchdog
        return 0 if self.inject is None else _WATCHDOG_CYCLES

    def writes(self, registers: RegisterMap) -> list[tuple[int, int]]:
        """(byte address, value): what is written to `registers` before the start."""
        return [(registers.address("WATCHDOG"), self.cycles)] if self.cycles else []

    def fault(self, areas: Mapping[str, tuple[int, int]]) -> Fault | None:
        """See `parse_fault`."""
        return None if self.inject is None else parse_fault(self.inject, areas)


NO_TRIAL = Trial()


def _number(text: str, word: str) -> int:
    if not word.isdecimal() or len(word) > 9:
        raise JobError(f"fault '{text}': {word} is no number of beats (0 to 999999999)")
    return int(word)
