"""Parts of a schedule that a run leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

__all__ = ["Jumps"]


@dataclass(frozen=True)
class Jumps:
    """What a schedule has from time ``behind[k]`` on (ascending) is another ``gaps[k]`` cycles earlier; nothing that
    counts is in those before."""

    behind: tuple[int, ...]
    gaps: tuple[int, ...]

    @classmethod
    def of(cls, behind: np.ndarray, gaps: np.ndarray) -> Self | None:
        """Those that save something; None if there are none."""
        kept = gaps > 0
        return cls(tuple(behind[kept].tolist()), tuple(gaps[kept].tolist())) if kept.any() else None

    @property
    def saved(self) -> int:
        """Cycles that a run is shorter."""
        return sum(self.gaps)

    @cached_property
    def _earlier(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(self.gaps)])

    def times(self, scheduled: np.ndarray) -> np.ndarray:
        """When what the schedule has at these times happens."""
        return scheduled - self._earlier[np.searchsorted(self.behind, scheduled, side="right")]
