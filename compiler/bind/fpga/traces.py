"""What a port carries: words and cycles as a loop nest where they are one, else listed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from compiler.analysis.loop_regions import LoopRegion
from compiler.analysis.port_nests import PortNest
from compiler.bind.fpga.instance_trace import MOST_EVENTS

__all__ = ["Idle", "Part", "Trace"]


class Idle(NamedTuple):
    """Cycles (`times`, ascending) in which a read may see anything, and what it would see if it went on there as it
    does elsewhere (`words`): with them the walk of a read that is wanted in a triangle, say, has the loops of a box."""

    times: np.ndarray
    words: np.ndarray

    def later(self, cycles: int) -> Idle:
        """The same, `cycles` later."""
        return Idle(self.times + cycles, self.words)


_NONE = Idle(np.zeros(0, np.int64), np.zeros(0, np.int64))


class Part(NamedTuple):
    """Those events of a port that are wanted, of others with loops of a box: those in a `region` (None: all)."""

    port: PortNest
    region: LoopRegion | None

    def later(self, cycles: int) -> Part:
        """The same, `cycles` later."""
        return Part(self.port.later(cycles), self.region)

    def pinned(self) -> Part:
        """The same events, where a loop has one iteration only for each of one around it without that loop."""
        found = self.region and self.region.pinned()
        if not found:
            return self
        region, fold = found
        return Part(PortNest(fold(self.port.times), tuple(map(fold, self.port.digits)), self.port.shape), region)


@dataclass(frozen=True, eq=False)
class Trace:
    """In cycles (ascending) words: a nest, or both listed as int64 of shape [events], with cycles that are `idle`.
    `parts` of a nest that are wanted; none if all of it is. `onward`: listed events as parts of a nest, if they are."""

    given: PortNest | tuple[np.ndarray, np.ndarray]
    idle: Idle = _NONE
    parts: tuple[Part, ...] = ()
    onward: Trace | None = None

    @property
    def nest(self) -> PortNest | None:
        """The trace as a nest."""
        return self.given if isinstance(self.given, PortNest) else None

    @property
    def count(self) -> int:
        """Number of events."""
        return self.given.count if isinstance(self.given, PortNest) else len(self.given[0])

    @property
    def listable(self) -> bool:
        """Whether there are few enough events to list."""
        return self.count <= MOST_EVENTS

    @property
    def first(self) -> int:
        """Cycle of the first event."""
        return self.given.times.base if isinstance(self.given, PortNest) else int(self.given[0][0])

    @cached_property
    def _listed(self) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(self.given, PortNest):
            return self.given.times.values(), self.given.numbers.values()
        return self.given

    @property
    def times(self) -> np.ndarray:
        """Cycles of all events."""
        return self._listed[0]

    @property
    def words(self) -> np.ndarray:
        """Numbers of their words."""
        return self._listed[1]

    def later(self, cycles: int) -> Trace:
        """The same words, `cycles` later."""
        if isinstance(self.given, PortNest):
            return Trace(self.given.later(cycles), parts=tuple(part.later(cycles) for part in self.parts))
        onward = None if self.onward is None else self.onward.later(cycles)
        return Trace((self.given[0] + cycles, self.given[1]), self.idle.later(cycles), onward=onward)
