"""What happens in a scheduled program, in numbers: cycles of all instances, and which value each of their reads sees.

A statement's instances are numbered in the order of its loops, tile loops first; that is also the order in time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

import numpy as np

from compiler.analysis.dependences import Dependence, constant_bounds
from compiler.bind.fpga.errors import FpgaError
from compiler.ir.points import contains, enumerate_points, evaluate_map
from compiler.ir.program import Statement
from compiler.sched.static.static_schedule import Schedule

__all__ = ["MOST_EVENTS", "Events", "Reads"]

MOST_EVENTS = 1 << 22
"""Most instances of a statement, which this target looks at one by one: twice the pixels of 1920x1080."""


class Reads(NamedTuple):
    """Reads of values of one statement, in the order of time: instances of the reader, by their numbers, and the number
    of the producing instance for each."""

    instances: np.ndarray
    words: np.ndarray


@dataclass
class Events:
    """All instances of the statements of `schedule`. Raises `FpgaError` for too many, or for two in one cycle."""

    schedule: Schedule
    _times: dict[str, np.ndarray] = field(default_factory=dict)
    _reads: dict[tuple[str, int, str], Reads] = field(default_factory=dict)

    def trips(self, name: str) -> tuple[int, ...]:
        """Iterations of each loop of a statement, outermost first."""
        bounds = constant_bounds(self._statement(name)).values()
        return tuple(high - low + 1 for low, high in bounds)

    def steps(self, name: str) -> tuple[int, ...]:
        """Cycles from one iteration to the next of each loop, outermost first."""
        staged, entry = self.schedule.staged, self.schedule.statements[name]
        tiles = [self.schedule.period * prod(staged.tile_counts[k + 1 :]) for k in range(staged.tile_depth)]
        return (*tiles, *entry.strides.values())

    def times(self, name: str) -> np.ndarray:
        """Logical cycles of all instances, ascending: int64 of shape [instances]."""
        if name not in self._times:
            self._times[name] = self._new_times(name)
        return self._times[name]

    def iterator(self, name: str, iterator: str) -> np.ndarray:
        """Value of an iterator in all instances of a statement."""
        place = self._statement(name).iterators.index(iterator)
        low, _ = constant_bounds(self._statement(name))[iterator]
        return self.iterations(name, place) + low

    def iterations(self, name: str, place: int) -> np.ndarray:
        """Iteration, from 0 on, that loop number `place` is in, in all instances of a statement."""
        return np.indices(self.trips(name), np.int64)[place].ravel()

    def last(self, name: str) -> int:
        """Logical cycle of the last instance."""
        steps = zip(self.steps(name), self.trips(name), strict=True)
        return self.schedule.statements[name].offset + sum(step * (count - 1) for step, count in steps)

    def _new_times(self, name: str) -> np.ndarray:
        trips = self.trips(name)
        if prod(trips) > MOST_EVENTS:
            raise FpgaError(f"{self._statement(name)} has {prod(trips)} instances; the fpga target takes up to "
                            f"{MOST_EVENTS}: compile a smaller image, a tile of it at a time")
        times = np.full(1, self.schedule.statements[name].offset, np.int64)
        for count, step in zip(trips, self.steps(name), strict=True):
            times = (times[:, None] + np.arange(count) * step).ravel()
        if (np.diff(times) < 1).any():
            raise FpgaError(f"{self._statement(name)} has two instances in one cycle")
        return times

    def reads(self, dependence: Dependence) -> Reads:
        """Who reads what: all instances of the reader, or some of them where it sees values of several statements."""
        if dependence.key not in self._reads:
            self._reads[dependence.key] = self._new_reads(dependence)
        return self._reads[dependence.key]

    def read_times(self, dependence: Dependence) -> np.ndarray:
        """Logical cycles of these reads, ascending."""
        return self.times(dependence.sink)[self.reads(dependence).instances]

    def _new_reads(self, dependence: Dependence) -> Reads:
        reader, producer = self._statement(dependence.sink), self._statement(dependence.source)
        count, columns = enumerate_points(reader.domain)
        domain = dependence.relation.domain()
        instances = np.flatnonzero(contains(domain.gist(reader.domain), columns, count))
        found = evaluate_map(dependence.relation, domain, [column[instances] for column in columns], len(instances))
        number = np.zeros(len(instances), np.int64)
        sizes = zip(found, constant_bounds(producer).values(), self.trips(producer.name), strict=True)
        for column, (low, _), size in sizes:
            number = number * size + (column - low)
        return Reads(instances, number)

    def live_words(self, name: str) -> int:
        """Most values of a statement that are produced and still to be read, at once; a value is not counted in the
        cycle of its last use. No implementation can do with less storage at this schedule."""
        born = self.times(name)
        gone = np.full(len(born), -1)
        for dependence in self.schedule.dependences:
            if dependence.source == name:
                np.maximum.at(gone, self.reads(dependence).words, self.read_times(dependence))
        used = gone >= 0
        born, gone = born[used], np.sort(gone[used])
        alive = np.arange(1, len(born) + 1) - np.searchsorted(gone, born, side="right")
        return int(alive.max(initial=0))

    def _statement(self, name: str) -> Statement:
        return self.schedule.staged.program.statement(name)
