"""Port reduction: reads at a constant distance become taps of a delay line (Liu 2023, sections 5.1.1 to 5.1.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.bind.buffers.unified import ReadPort

__all__ = ["REGISTER_GAP", "TapGroup", "group_taps"]

REGISTER_GAP = 20
"""Largest gap, in cycles, between neighbouring taps that registers bridge; the threshold of Liu 2023, 5.1.2."""


@dataclass(frozen=True)
class TapGroup:
    """Taps close enough to share one source: the producer itself (`head` 0) or a memory that delays it by `head`.

    Tap p needs ``p.distance - head`` further cycles, which the routing and input stages of the array give.
    """

    head: int
    taps: tuple[ReadPort, ...]

    @property
    def registers(self) -> int:
        """Words that a chain of shift registers serving these taps holds."""
        return max(self._distance(tap) for tap in self.taps) - self.head

    @staticmethod
    def _distance(tap: ReadPort) -> int:
        assert tap.distance is not None
        return tap.distance

    def __str__(self) -> str:
        source = f"memory delay {self.head}" if self.head else "producer"
        return f"{source}: taps at " + ", ".join(str(tap.distance) for tap in self.taps)


def group_taps(taps: Sequence[ReadPort], gap: int = REGISTER_GAP, near: int = 0) -> list[TapGroup]:
    """Split taps by distance wherever neighbours are more than `gap` cycles apart, the tree of figure 5.1c.

    Distances up to `gap`, or up to `near`, hang on the producer directly; every later group starts with a memory.
    """
    near = max(near, gap)
    groups: list[list[ReadPort]] = []
    previous = 0
    for tap in sorted(taps, key=lambda t: t.distance or 0):
        distance = tap.distance or 0
        if not groups or distance - previous > (gap if previous else near):
            groups.append([])
        groups[-1].append(tap)
        previous = distance
    return [_group(group, near) for group in groups]


def _group(taps: list[ReadPort], near: int) -> TapGroup:
    first = taps[0].distance or 0
    return TapGroup(0 if first <= near else first, tuple(taps))
