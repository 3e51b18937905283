"""Loops in parts: tiles, positions in the array, time, lanes (Wang 2021, sections 5.2 to 5.4)."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Split"]


@dataclass(frozen=True)
class Split:
    """``loop = ((tile * count + position) * time + t) * lanes + v``.

    `axis`: 0 if positions are rows of the array, 1 for columns, None if the loop is none of its space loops (then
    `count` is 1).
    """

    loop: str
    axis: int | None = None
    count: int = 1
    time: int = 1
    lanes: int = 1

    @property
    def tile(self) -> int:
        """Iterations in a tile."""
        return self.count * self.time * self.lanes

    @property
    def position(self) -> int:
        """Iterations from one position to the next."""
        return self.time * self.lanes

    def tiles(self, extent: int) -> int:
        """Tiles that `extent` iterations take."""
        return -(-extent // self.tile)

    def __str__(self) -> str:
        parts = [f"{self.count} {('rows', 'columns')[self.axis]}"] if self.axis is not None else []
        parts += [f"{self.time} steps"] if self.time > 1 or not parts else []
        parts += [f"{self.lanes} lanes"] if self.lanes > 1 else []
        return f"{self.loop}: {' x '.join(parts)}"
