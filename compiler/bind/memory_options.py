"""Options that every target has: the main memory for which it plans, predicts and is simulated."""

from __future__ import annotations

from dataclasses import dataclass

from hw.main_memory import DEFAULT_MEMORY, MainMemory

__all__ = ["MemoryOptions"]


@dataclass(frozen=True, kw_only=True)
class MemoryOptions:
    """`memory_latency`: cycles from an accepted address to the first beat of its burst. `memory_bursts`: bursts per
    direction that main memory takes before it has answered the first. See `MainMemory`. Raises `MainMemoryError`
    for values that it cannot have."""

    memory_latency: int = DEFAULT_MEMORY.latency
    memory_bursts: int = DEFAULT_MEMORY.bursts

    def __post_init__(self) -> None:
        self.main_memory()

    def main_memory(self, port_bits: int = DEFAULT_MEMORY.port_bits) -> MainMemory:
        """The memory behind a port of `port_bits`."""
        return MainMemory(port_bits, self.memory_latency, self.memory_bursts)
