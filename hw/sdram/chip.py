"""SDRAM chips: geometry, times in nanoseconds, and the clock cycles that these take."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from hw.errors import SluiceError

__all__ = ["CHIPS", "SdramChip", "SdramCycles", "SdramError", "SdramTimes", "find_chip"]

_ROUNDING = 1e-9
_PADS_NS = 2.0
"""What lines and pads take of the half period between the chip's clock edge and the controller's."""


class SdramError(SluiceError):
    """An SDRAM that cannot be driven."""


@dataclass(frozen=True)
class SdramTimes:
    """Least times in ns, named as in data sheets.

    rcd: from a row's opening to a read or write. rp: from its closing to the next opening. ras: from opening to
    closing. rc: between openings in a bank. rrd: between openings in different banks. wr: from written data to the
    row's closing. rfc: a refresh. mrd: a change of the mode. ac: from a clock edge to read data. ck: a clock period.
    startup: with power and clock, before the first command. refresh: at most this long between two refreshes.
    """

    rcd: float
    rp: float
    ras: float
    rc: float
    rrd: float
    wr: float
    rfc: float
    mrd: float
    ac: float
    ck: float
    startup: float = 200_000.0
    refresh: float = 64e6 / 8192


@dataclass(frozen=True)
class SdramChip:
    """A chip of `4` banks, or several side by side. Bits of a row's number, of a column's, and of the data lines;
    `latency`: clock cycles from a read to its data."""

    name: str
    row_bits: int
    column_bits: int
    data_bits: int
    times: SdramTimes
    latency: int = 3

    bank_bits = 2

    @property
    def address_bits(self) -> int:
        """Address lines."""
        return max(self.row_bits, 11)

    @property
    def size(self) -> int:
        """Bytes."""
        return (1 << self.bank_bits + self.row_bits + self.column_bits) * self.data_bits // 8

    def cycles(self, clock_hz: float) -> SdramCycles:
        """The times at a clock. Raises `SdramError` if it is too fast for the chip or for taking its data half a period
        later, or too slow for refreshing it."""
        times = self.times
        most = 1e9 / max(times.ck, 2 * (times.ac + _PADS_NS))
        if clock_hz > most * (1 + _ROUNDING):
            raise SdramError(f"SDRAM {self.name} is driven with up to {most / 1e6:.1f} MHz, not {clock_hz / 1e6:g} MHz:"
                             " take a slower clock")

        def rounded(time: float) -> int:
            return max(1, math.ceil(time * clock_hz / 1e9 - _ROUNDING))

        names = ("rcd", "rp", "ras", "rc", "rrd", "wr", "rfc", "mrd", "startup")
        cycles = SdramCycles(**{name: rounded(getattr(times, name)) for name in names}, latency=self.latency,
                             refresh=int(times.refresh * clock_hz / 1e9))
        if cycles.refresh <= 4 * cycles.rfc + 64:
            raise SdramError(f"SDRAM {self.name} cannot be refreshed with a clock of {clock_hz / 1e6:g} MHz: take a "
                             "faster one")
        return cycles


@dataclass(frozen=True)
class SdramCycles:
    """`SdramTimes` in clock cycles, and the latency of reads."""

    rcd: int
    rp: int
    ras: int
    rc: int
    rrd: int
    wr: int
    rfc: int
    mrd: int
    startup: int
    refresh: int
    latency: int


_SLOW = SdramTimes(rcd=20, rp=20, ras=45, rc=67.5, rrd=15, wr=15, rfc=70, mrd=15, ac=6, ck=7.5)
"""At least what the chips below ask for in their usual speed grades (-6 and -7)."""
CHIPS: Mapping[str, SdramChip] = {chip.name: chip for chip in (
    SdramChip("IS42S16160G", 13, 9, 16, _SLOW),
    SdramChip("AS4C16M16SA", 13, 9, 16, _SLOW),
    SdramChip("W9825G6KH", 13, 9, 16, _SLOW),
    SdramChip("AS4C32M16SB", 13, 10, 16, _SLOW),
    SdramChip("IS42S16320D", 13, 10, 16, _SLOW),
    SdramChip("IS42S16400J", 12, 8, 16, _SLOW),
    SdramChip("M12L64322A", 11, 8, 32, _SLOW),
    SdramChip("K4S561632J", 13, 9, 16, _SLOW),
)}
"""Chips by name."""


def find_chip(name: str) -> SdramChip:
    """The chip called `name`. Raises `SdramError` with those on record."""
    if name.upper() not in CHIPS:
        raise SdramError(f"there is no SDRAM '{name}' on record; known are {', '.join(CHIPS)}")
    return CHIPS[name.upper()]
