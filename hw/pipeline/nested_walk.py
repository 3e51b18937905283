"""Walks as a loop inside others: what happens in one iteration of the loop, the loop itself, the loops around it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from hw.pipeline.spec import Level, Walk

__all__ = ["Around", "NestedWalk", "loop_starts", "nested_walk"]

Around = tuple[tuple[int, int], ...]
"""Trips, and cycles from one iteration to the next, of the loops around a loop, innermost first."""


def loop_starts(around: Around) -> np.ndarray:
    """When the iterations of the loops around a loop begin, in cycles after the first one: int64 of shape
    [iterations]."""
    starts = np.zeros(1, np.int64)
    for trips, cycles in around:
        starts = (cycles * np.arange(trips)[:, None] + starts).ravel()
    return starts


@dataclass(frozen=True)
class NestedWalk:
    """The events of `walk`: those of ``levels[:place]`` in every iteration of the loop ``levels[place]``, all of it in
    every iteration of the loops around it."""

    walk: Walk
    place: int

    @property
    def loop(self) -> Level:
        """The loop."""
        return self.walk.levels[self.place]

    @property
    def once(self) -> Walk:
        """The events of the first iteration of the loop."""
        return replace(self.walk, levels=self.walk.levels[:self.place])

    @property
    def inside(self) -> Walk:
        """The events in the first iterations of the loops around it."""
        return replace(self.walk, levels=self.walk.levels[:self.place + 1])

    @property
    def advance(self) -> int | None:
        """By how much addresses differ from one iteration of the loop to the next, modulo their number; None if that is
        not always the same."""
        [delta, *more] = self.loop.deltas
        return None if more else (delta + _travelled(self.once)) % self.walk.size

    @property
    def repeats(self) -> bool:
        """Whether addresses are the same in all iterations of the loops around it."""
        levels, size = self.walk.levels, self.walk.size
        travelled = [_travelled(replace(self.walk, levels=levels[:k])) for k in range(len(levels))]
        return not any((delta + travelled[k]) % size for k in range(self.place + 1, len(levels))
                       for delta in levels[k].deltas)


@lru_cache(maxsize=4096)
def nested_walk(walk: Walk, period: int, around: Around) -> NestedWalk | None:
    """`walk` as a loop of an iteration in `period` cycles inside those `around` it; None if it is none."""
    levels: list[tuple[Level, int]] = []
    for level, cycles in zip(walk.levels, walk.periods, strict=True):
        levels.append((level, cycles))
        for wanted in (period, *(cycles for _, cycles in around)):
            last, cycles = levels[-1]
            parts = _split(last, wanted // cycles) if wanted % cycles == 0 else None
            if parts is not None:
                levels[-1:] = [(parts[0], cycles), (parts[1], wanted)]
    periods = [cycles for _, cycles in levels]
    if period not in periods:
        return None
    place = periods.index(period)
    found = NestedWalk(replace(walk, levels=tuple(level for level, _ in levels)), place)
    outer = tuple((level.trips, cycles) for level, cycles in levels[place + 1:])
    return found if outer == around and found.once.last - walk.start < period else None


def _split(level: Level, trips: int) -> tuple[Level, Level] | None:
    """A loop as one of `trips` iterations inside another one; None if it is not like that."""
    if not 1 < trips < level.trips or level.trips % trips:
        return None
    if len(level.deltas) == 1:
        return replace(level, trips=trips), replace(level, trips=level.trips // trips)
    deltas = [level.deltas[k % len(level.deltas)] for k in range(level.trips - 1)]
    inner, [first, *others] = deltas[:trips - 1], [deltas[k:k + trips - 1] for k in range(0, level.trips, trips)]
    if any(other != first for other in others):
        return None
    return (Level(trips, level.gap, _shortest(inner)),
            Level(level.trips // trips, level.gap, _shortest(deltas[trips - 1::trips])))


def _shortest(deltas: list[int]) -> tuple[int, ...]:
    """One address step if all are the same."""
    return tuple(deltas[:1] if len(set(deltas)) == 1 else deltas)


def _travelled(walk: Walk) -> int:
    """By how much the address of the last event differs from that of the first."""
    event = walk.next_event(walk.last)
    assert event is not None
    return event.address - walk.origin
