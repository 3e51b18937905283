"""The main memory that predictions are stated for and simulations run with."""

from __future__ import annotations

from dataclasses import dataclass

from hw.errors import SluiceError

__all__ = ["DEFAULT_MEMORY", "MOST_BURSTS", "MOST_LATENCY", "MainMemory", "MainMemoryError"]

MOST_LATENCY = 4096
"""Longest latency that can be stated, in cycles."""

MOST_BURSTS = 16
"""Most bursts per direction that the simulated memory holds."""


class MainMemoryError(SluiceError):
    """A main memory that there cannot be."""


@dataclass(frozen=True)
class MainMemory:
    """Main memory behind one AXI4 port, without random stalls. Reads and writes are separate channels: in each cycle
    one beat of `port_bits` can come and one can go.

    `latency`: cycles from the one in which the address of a burst is accepted to the one with its first beat of data,
    or from a burst's last beat of written data to its answer; at least 2. It is paid once for a train of bursts: up to
    `bursts` in each direction wait for their data or answer at once.

    Raises `MainMemoryError` for other values.
    """

    port_bits: int = 64
    latency: int = 20
    bursts: int = 16

    def __post_init__(self) -> None:
        if self.port_bits < 8 or self.port_bits & (self.port_bits - 1):
            raise MainMemoryError(f"main memory has a port of {self.port_bits} bits, not a power of two from 8")
        if not 2 <= self.latency <= MOST_LATENCY:
            raise MainMemoryError(f"main memory has a latency of {self.latency} cycles, not of 2 to {MOST_LATENCY}")
        if not 1 <= self.bursts <= MOST_BURSTS:
            raise MainMemoryError(f"main memory takes {self.bursts} bursts at once, not 1 to {MOST_BURSTS}")

    def __str__(self) -> str:
        return f"{self.port_bits} bits, latency {self.latency}, {self.bursts} bursts"

    def beats(self, bytes_in: int, bytes_out: int) -> int:
        """Cycles that the port is busy at least: both channels move at once, so the busier one counts."""
        return -(-8 * max(bytes_in, bytes_out) // self.port_bits)


DEFAULT_MEMORY = MainMemory()
"""What is assumed where nothing else is said."""
