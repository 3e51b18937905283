"""How long a program takes on a board beside its host: configurations, transfers and runs of machines (Hammes 2000,
sections 6.2 and 7.1.1). A model: its figures are times of the board, and cycles of runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hw.link.protocol import DEFAULT_BAUD

__all__ = ["WILDFORCE", "Board", "Elapsed", "Start", "Transfer", "link_board"]

_MEGABYTE = 1 << 20
_BITSTREAM_BYTES = 1_900_000
_FRAME_BYTES = 16


@dataclass(frozen=True)
class Transfer:
    """One direction between host and board: microseconds to begin, and megabytes (of 2**20 bytes) per second."""

    startup_us: float
    megabytes_per_second: float

    def milliseconds(self, count: int) -> float:
        """The time of `count` bytes; none if there are none."""
        return self.startup_us / 1000 + 1000 * count / (_MEGABYTE * self.megabytes_per_second) if count else 0.0


@dataclass(frozen=True)
class Start:
    """One start of a machine: which `configuration` it needs, bytes that go down to the board before and come up behind
    it, and milliseconds of the run."""

    configuration: str
    bytes_down: int
    bytes_up: int
    run_ms: float


@dataclass(frozen=True)
class Elapsed:
    """Where the time goes, in milliseconds, and how often the board was configured."""

    configurations: int
    configuration_ms: float
    transfer_ms: float
    run_ms: float

    @property
    def computing_ms(self) -> float:
        """Transfers and runs, as if everything were on the board already."""
        return self.transfer_ms + self.run_ms

    @property
    def total_ms(self) -> float:
        """All of it."""
        return self.configuration_ms + self.computing_ms


@dataclass(frozen=True)
class Board:
    """A board that holds one configuration at a time, which takes `configuration_ms` to load."""

    configuration_ms: float
    down: Transfer
    up: Transfer

    def elapsed(self, starts: Iterable[Start]) -> Elapsed:
        """The time of `starts`, one after the other. A configuration that is loaded is not loaded again."""
        loaded, count, transfers, runs = None, 0, 0.0, 0.0
        for start in starts:
            count += start.configuration != loaded
            loaded = start.configuration
            transfers += self.down.milliseconds(start.bytes_down) + self.up.milliseconds(start.bytes_up)
            runs += start.run_ms
        return Elapsed(count, count * self.configuration_ms, transfers, runs)


WILDFORCE = Board(106.0, Transfer(50.0, 120.0), Transfer(40.0, 66.0))
"""The board of the thesis: five FPGAs configured bit by bit, DMA over PCI of 32 bits and 33 MHz."""


def link_board(baud: int = DEFAULT_BAUD, bitstream_bytes: int = _BITSTREAM_BYTES, jtag_hz: float = 6e6) -> Board:
    """A board with the link of this project (`hw.link`), by a model: a byte takes ten bits of a serial line, an answer
    comes after a frame without data in both directions; the bitstream, by default one of an ECP5-85, comes bit by bit
    over JTAG."""
    rate = baud / 10 / _MEGABYTE
    answer_us = 2e6 * _FRAME_BYTES * 10 / baud
    return Board(1000 * 8 * bitstream_bytes / jtag_hz, Transfer(answer_us, rate), Transfer(answer_us, rate))
