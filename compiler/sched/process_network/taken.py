"""Times at which something fires already: how many others statements would add."""

from __future__ import annotations

from functools import cached_property, reduce

import islpy as isl
import numpy as np

from compiler.analysis.instance_budget import count_instances
from compiler.sched.process_network.instances import Times, Vectors, time_keys
from compiler.sched.process_network.shifts import Placement

__all__ = ["Taken"]


class Taken:
    """The times of `main`: numbers if there are few instances, else a set."""

    def __init__(self, vectors: Vectors, main: Times) -> None:
        self.vectors, self.main = vectors, main

    @cached_property
    def _keys(self) -> np.ndarray:
        return np.unique(time_keys(self.vectors(self.main)))

    @cached_property
    def _set(self) -> isl.Set:
        return reduce(isl.Set.union, (time.range() for time in self.main.values())).coalesce()

    @cached_property
    def count(self) -> int:
        """How many there are."""
        return len(self._keys) if self.vectors.few else self.vectors.different(self.main)

    def added(self, times: Times) -> int:
        """How many of `times` are others."""
        if self.vectors.few:
            return self._new(time_keys(self.vectors(times)))
        more = reduce(isl.Set.union, (time.range() for time in times.values()))
        return count_instances(more.subtract(self._set).coalesce())

    def added_at(self, place: Placement, times: Times) -> int:
        """The same for `times` that are moved to `place`."""
        if self.vectors.few:
            return self._new(time_keys(place.vectors(self.vectors(times))))
        return self.added(place.times(times))

    def _new(self, keys: np.ndarray) -> int:
        keys, main = np.unique(keys), self._keys
        if not len(main):
            return len(keys)
        return int((main[np.minimum(np.searchsorted(main, keys), len(main) - 1)] != keys).sum())
