"""What happens in a scheduled program: cycles of all instances, and which value each of their reads sees.

A statement's instances are numbered in the order of its loops, tile loops first; that is also the order in time. Mostly
both are loop nests, which take no numbers (`compiler.analysis.port_nests`); others are listed, up to `MOST_EVENTS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import islpy as isl
import numpy as np

from compiler.analysis.dependences import Dependence, constant_bounds
from compiler.analysis.port_nests import LoopSum, PortNest, ReadNest, linear_sum, read_nest, table_sum, word_numbers
from compiler.bind.fpga.errors import FpgaError
from compiler.ir.points import contains, enumerate_points, evaluate_map
from compiler.ir.program import Statement
from compiler.sched.static.schedule import Schedule

__all__ = ["MOST_EVENTS", "Events", "Reads"]

MOST_EVENTS = 1 << 22
"""Most instances of a statement that are listed: twice the pixels of 1920x1080."""


@dataclass(eq=False)
class Reads:
    """Reads of values of one statement, in the order of time: `instances` of the reader, by their numbers, and the
    number of the producing instance for each (`words`); `nest` if they are one, on boxes of `trips` of the reader and
    `shape` of the producer."""

    listed: tuple[np.ndarray, np.ndarray] | None
    nest: ReadNest | None
    trips: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def instances(self) -> np.ndarray:
        """Instances of the reader."""
        return self._arrays[0]

    @property
    def words(self) -> np.ndarray:
        """The producing instances."""
        return self._arrays[1]

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray]:
        if self.listed is not None:
            return self.listed
        assert self.nest is not None
        numbers = np.zeros(1, np.int64)
        for kept, size in zip(self.nest.kept, self.trips, strict=True):
            numbers = (numbers[:, None] * size + kept).ravel()
        box = [len(kept) for kept in self.nest.kept]
        return numbers, word_numbers(self.nest.digits, self.shape, box).values()


@dataclass
class Events:
    """All instances of the statements of `schedule`. Raises `FpgaError` for too many, or for two in one cycle."""

    schedule: Schedule
    _times: dict[str, np.ndarray] = field(default_factory=dict)
    _clocks: dict[str, LoopSum] = field(default_factory=dict)
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

    def clock(self, name: str) -> LoopSum:
        """Logical cycles of all instances, as a nest. Raises `FpgaError` for two in one cycle."""
        if name not in self._clocks:
            trips, steps, span = self.trips(name), self.steps(name), 0
            for step, count in zip(reversed(steps), reversed(trips), strict=True):
                if count > 1 and step <= span:
                    raise FpgaError(f"{self._statement(name)} has two instances in one cycle")
                span += step * (count - 1)
            self._clocks[name] = linear_sum(self.schedule.statements[name].offset, steps, trips)
        return self._clocks[name]

    def times(self, name: str) -> np.ndarray:
        """Logical cycles of all instances, ascending: int64 of shape [instances]. Raises `FpgaError` for too many."""
        if name not in self._times:
            self._require_few(name)
            self._times[name] = self.clock(name).values()
        return self._times[name]

    def iterator(self, name: str, iterator: str) -> LoopSum:
        """Value of an iterator in all instances of a statement."""
        place = self._statement(name).iterators.index(iterator)
        low, _ = constant_bounds(self._statement(name))[iterator]
        return self.iterations(name, place).plus(low)

    def iterations(self, name: str, place: int) -> LoopSum:
        """Iteration, from 0 on, that loop number `place` is in, in all instances of a statement."""
        trips = self.trips(name)
        return table_sum(place, np.arange(trips[place], dtype=np.int64), trips)

    def last(self, name: str) -> int:
        """Logical cycle of the last instance."""
        return self.clock(name).last

    def port(self, name: str, reads: Reads) -> PortNest | None:
        """What reads by instances of a statement want in its logical cycles, None if that is no nest."""
        if reads.nest is None:
            return None
        return PortNest(self.clock(name).taken(reads.nest.kept), reads.nest.digits, reads.shape)

    def own(self, name: str) -> PortNest:
        """The values of a statement in its logical cycles."""
        trips = self.trips(name)
        return PortNest(self.clock(name), tuple(self.iterations(name, k) for k in range(len(trips))), trips)

    def distance(self, dependence: Dependence, reads: Reads) -> tuple[int, int]:
        """Least and most cycles from a value to its reads."""
        port, born = self.port(dependence.sink, reads), self.clock(dependence.source)
        if port is None:
            cycles = self.times(dependence.sink)[reads.instances] - self.times(dependence.source)[reads.words]
            return int(cycles.min()), int(cycles.max())
        waits = port.times.plus(-born.base)
        for digit, step in zip(port.digits, self.steps(dependence.source), strict=True):
            waits = waits.minus(digit.times(step))
        return waits.least, waits.most

    def _require_few(self, name: str) -> None:
        count = prod(self.trips(name))
        if count > MOST_EVENTS:
            raise FpgaError(f"{self._statement(name)} has {count} instances, which would have to be listed; the fpga "
                            f"target lists up to {MOST_EVENTS}: compile a smaller image, a tile of it at a time")

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
        trips, shape = self.trips(reader.name), self.trips(producer.name)
        lows = [[low for low, _ in constant_bounds(statement).values()] for statement in (reader, producer)]
        nest = read_nest(dependence.relation, lows[0], trips, lows[1])
        if nest is not None:
            return Reads(None, nest, trips, shape)
        self._require_few(reader.name)
        count, columns = enumerate_points(reader.domain)
        domain = dependence.relation.domain()
        instances = np.flatnonzero(contains(domain.gist(reader.domain), columns, count))
        found = evaluate_map(dependence.relation, domain, [column[instances] for column in columns], len(instances))
        numbers = self._numbers(producer.name, found, len(instances))
        return Reads((instances, numbers), None, trips, shape)

    def idle_reads(self, dependence: Dependence, reads: Reads) -> tuple[np.ndarray, np.ndarray]:
        """Of reads (all of a dependence, or some) that are no nest, the other instances of the reader, which may see
        anything, and the words that they would see if the read went on there as it does elsewhere, also beyond the
        producer's loops; none if no affine function says it."""
        reader = self._statement(dependence.sink)
        onward = isl.Map.from_basic_map(dependence.relation.affine_hull())
        if reads.nest is not None or not onward.is_single_valued():
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        count, columns = enumerate_points(reader.domain)
        domain = onward.domain()
        idle = contains(domain, columns, count)
        idle[reads.instances] = False
        instances = np.flatnonzero(idle)
        found = evaluate_map(onward, domain, [column[instances] for column in columns], len(instances))
        return instances, self._numbers(dependence.source, found, len(instances))

    def _numbers(self, producer: str, points: Sequence[np.ndarray], count: int) -> np.ndarray:
        """Numbers of `count` instances of a statement by their iterators."""
        number = np.zeros(count, np.int64)
        sizes = zip(points, constant_bounds(self._statement(producer)).values(), self.trips(producer), strict=True)
        for column, (low, _), size in sizes:
            number = number * size + (column - low)
        return number

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
