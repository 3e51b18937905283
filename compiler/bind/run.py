"""What a simulation, or a board, gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

__all__ = ["Run"]


@dataclass(frozen=True)
class Run:
    """Result of one simulation.

    `cycles`: unstalled cycles until the last output word, as the hardware saw it; `stall_cycles`: cycles in which it
    stood still; `wall_cycles`: clock cycles from start to done, configuration and memory traffic included.
    `clock_cycles` were simulated in `seconds`; the simulator itself was built in `build_seconds` (0 if cached).
    """

    outputs: dict[str, np.ndarray]
    cycles: int
    stall_cycles: int
    wall_cycles: int
    simulator: str
    clock_cycles: int
    seconds: float
    build_seconds: float
    waveform: Path | None = None
    counters: dict[str, int] = field(default_factory=dict)

    @property
    def cycles_per_second(self) -> float:
        """Simulation speed in clock cycles per second."""
        return self.clock_cycles / self.seconds if self.seconds else 0.0
