"""Memories that are left, where an array has memories of several sizes: every buffer and table gets the smallest in
which it fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hw.memtile import MemTileSpec

__all__ = ["MemoryStock"]


@dataclass
class MemoryStock:
    """`spec` is the largest memory, `left` how many of each depth (wide words) there still are; nothing in it for an
    array whose memories are all alike. More of the largest can be taken than there are, which the check of capacities
    finds."""

    spec: MemTileSpec
    left: dict[int, int] = field(default_factory=dict)

    @staticmethod
    def of(spec: MemTileSpec, memories: Mapping[int, int] | None) -> MemoryStock:
        """A full stock; `memories` as in `FabricSpec.memories`."""
        return MemoryStock(spec, dict(memories or {}))

    @property
    def depths(self) -> list[int]:
        """Depths of memories that are left, the smallest first; at least that of the largest."""
        found = sorted(depth for depth, count in self.left.items() if count > 0)
        return found or [self.spec.depth]

    def words(self, depth: int) -> int:
        """Words that a memory of this depth holds."""
        return depth * self.spec.fetch_width

    def has(self, depth: int, count: int) -> bool:
        """Whether so many memories of this depth are left."""
        return self.left.get(depth, count) >= count

    def take(self, depth: int) -> int:
        """One memory of this depth less; the depth."""
        if depth in self.left:
            self.left[depth] -= 1
        return depth

    def take_for(self, words: int) -> int:
        """The depth of the smallest memory for so many words, which is taken."""
        return self.take(next((depth for depth in self.depths if self.words(depth) >= words), self.spec.depth))
