"""What happens in a scheduled program: cycles of all instances, and which value each of their reads sees.

A statement's instances are numbered in the order of its loops, tile loops first; that is also the order in time. Mostly
both are loop nests, which take no numbers (`compiler.analysis.port_nests`); others are listed, up to `MOST_EVENTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import NamedTuple

import islpy as isl
import numpy as np

from compiler.analysis.boxes import box_around, box_of
from compiler.analysis.dependences import Dependence, constant_bounds
from compiler.analysis.loop_regions import LoopRegion, loop_region
from compiler.analysis.port_nests import LoopSum, PortNest, ReadNest, linear_sum, read_nest, read_nests, table_sum
from compiler.bind.fpga.errors import FpgaError
from compiler.ir.points import contains, enumerate_points, evaluate_map
from compiler.ir.program import Statement
from compiler.sched.static.schedule import Schedule

__all__ = ["MOST_EVENTS", "MOST_WORDS", "Events", "ReadPart", "Reads"]

MOST_EVENTS = 1 << 22
"""Most instances of a statement that are listed: twice the pixels of 1920x1080."""

MOST_WORDS = 1 << 20
"""Most values of a statement whose lives are looked at."""


class ReadPart(NamedTuple):
    """Reads that are a nest, or those of one with more instances than there are that are in a `region` of its box."""

    nest: ReadNest
    region: LoopRegion | None = None

    def ends(self, function: LoopSum) -> tuple[int, int]:
        """The least and the greatest value of a function on the nest at the reads, of which there are some."""
        if self.region is None:
            return function.least, function.most
        least, most = self.region.least(function), self.region.most(function)
        assert least is not None and most is not None
        return least, most


@dataclass(eq=False)
class Reads:
    """Reads of values of one statement, as `relation` says, by instances of another: iterations of boxes of `trips` of
    the reader, which begins at `lows`, and of `shape` of the producer, which does at `first`. `few`: raises an error
    where there are too many to list."""

    relation: isl.Map
    lows: tuple[int, ...]
    trips: tuple[int, ...]
    first: tuple[int, ...]
    shape: tuple[int, ...]
    few: Callable[[], None]

    @cached_property
    def nests(self) -> tuple[ReadNest, ...] | None:
        """The reads as disjoint nests, None if they are none."""
        found = read_nests(self.relation, self.lows, self.trips, self.first)
        return None if found is None else tuple(found)

    @property
    def nest(self) -> ReadNest | None:
        """The nest that they are."""
        return self.nests[0] if self.nests is not None and len(self.nests) == 1 else None

    @cached_property
    def onward(self) -> ReadPart | None:
        """Reads that are no nests as a part of one, in which they go on as they begin, seeing instances of the
        producer; None if they are none."""
        return next((part for part in self._onward if self._in_producer(part.nest)), None)

    @property
    def beyond(self) -> ReadPart | None:
        """As `onward`, where what is seen elsewhere may be beyond the producer's loops."""
        return self.onward or (self._onward[-1] if self._onward else None)

    @property
    def around(self) -> ReadPart | None:
        """The least box around the reads as a nest, in which all see as they do, instances of the producer; None if
        there is none."""
        function, box = self._function, box_around(self.relation.domain())
        if function is None:
            return None
        nest = read_nest(function.intersect_domain(box), self.lows, self.trips, self.first)
        return ReadPart(nest) if nest is not None and self._in_producer(nest) else None

    def _in_producer(self, nest: ReadNest) -> bool:
        """Whether all of a nest sees instances of the producer."""
        return all(digit.least >= 0 and digit.most < size for digit, size in zip(nest.digits, self.shape, strict=True))

    @cached_property
    def _function(self) -> isl.Map | None:
        """What all reads see as one affine function, on all instances of the reader; None if it is not one."""
        hull = isl.Map.from_basic_map(self.relation.affine_hull())
        functions: list[isl.MultiAff] = []
        if hull.is_single_valued():
            isl.PwMultiAff.from_map(hull).foreach_piece(lambda _, function: functions.append(function))
        return isl.Map.from_multi_aff(functions[0]) if len(functions) == 1 else None

    @cached_property
    def _onward(self) -> tuple[ReadPart, ...]:
        """In all of the reader's loops, and in the least box around the reads."""
        function, domain = self._function, self.relation.domain()
        region = None if function is None else loop_region(domain, self.lows, self.trips)
        if function is None or region is None:
            return ()
        boxes = self._box(self.lows, self.trips), box_around(domain)
        nests = [read_nest(function.intersect_domain(box), self.lows, self.trips, self.first) for box in boxes]
        return tuple(ReadPart(nest, region.taken(nest.kept)) for nest in nests if nest is not None)

    @property
    def parts(self) -> tuple[ReadPart, ...] | None:
        """The reads as disjoint nests or a part of one, None if they are neither."""
        if self.nests is not None:
            return tuple(map(ReadPart, self.nests))
        return None if self.onward is None else (self.onward,)

    @cached_property
    def pieces(self) -> tuple[ReadPart, ...] | None:
        """As `parts`, of the disjoint pieces of the relation, in each of which one affine function says what is seen;
        what is seen beside a piece may be beyond the producer's loops."""
        if self.parts is not None:
            return self.parts
        found: list[ReadPart] = []
        for piece in self.relation.coalesce().make_disjoint().get_basic_maps():
            part = replace(self, relation=isl.Map.from_basic_map(piece))
            some = part.parts or (part.beyond and (part.beyond,))
            if not some:
                return None
            found += some
        return tuple(found)

    def inside(self, box: Sequence[slice]) -> Reads:
        """The reads of instances in a box of iterations."""
        lows = [low + part.start for low, part in zip(self.lows, box, strict=True)]
        part = self._box(lows, [part.stop - part.start for part in box])
        return replace(self, relation=self.relation.intersect_domain(part))

    def _box(self, lows: Sequence[int], trips: Sequence[int]) -> isl.Set:
        """A box of the reader's instances."""
        return box_of(self.relation.domain().get_space(),
                      [(low, low + count - 1) for low, count in zip(lows, trips, strict=True)])

    @property
    def instances(self) -> np.ndarray:
        """Numbers of the instances of the reader, in the order of time."""
        return self._listed[0]

    @property
    def words(self) -> np.ndarray:
        """Number of the producing instance for each."""
        return self._listed[1]

    @cached_property
    def _listed(self) -> tuple[np.ndarray, np.ndarray]:
        self.few()
        whole = self._box(self.lows, self.trips)
        count, columns = enumerate_points(whole)
        domain = self.relation.domain()
        instances = np.flatnonzero(contains(domain.gist(whole), columns, count))
        found = evaluate_map(self.relation, domain, [column[instances] for column in columns], len(instances))
        return instances, self._numbers(found, len(instances))

    def idle(self) -> tuple[np.ndarray, np.ndarray]:
        """Of reads that are no nests, the other instances of the reader, which may see anything, and the words that
        they would see if the read went on there as it does elsewhere, also beyond the producer's loops; none if no
        affine function says it."""
        onward = isl.Map.from_basic_map(self.relation.affine_hull())
        if self.nest is not None or not onward.is_single_valued():
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        count, columns = enumerate_points(self._box(self.lows, self.trips))
        domain = onward.domain()
        idle = contains(domain, columns, count)
        idle[self.instances] = False
        instances = np.flatnonzero(idle)
        found = evaluate_map(onward, domain, [column[instances] for column in columns], len(instances))
        return instances, self._numbers(found, len(instances))

    def _numbers(self, points: Sequence[np.ndarray], count: int) -> np.ndarray:
        """Numbers of `count` instances of the producer by their iterators."""
        number = np.zeros(count, np.int64)
        for column, low, size in zip(points, self.first, self.shape, strict=True):
            number = number * size + (column - low)
        return number


@dataclass
class Events:
    """All instances of the statements of `schedule`. Raises `FpgaError` for too many, or for two in one cycle."""

    schedule: Schedule
    _times: dict[str, np.ndarray] = field(default_factory=dict)
    _clocks: dict[str, LoopSum] = field(default_factory=dict)
    _reads: dict[Dependence, Reads] = field(default_factory=dict)

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
            clock = linear_sum(self.schedule.statements[name].offset, self.steps(name), self.trips(name))
            if not clock.is_ascending:
                raise FpgaError(f"{self._statement(name)} has two instances in one cycle")
            self._clocks[name] = clock
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

    def port(self, name: str, nest: ReadNest, shape: tuple[int, ...]) -> PortNest:
        """What reads by instances of a statement want in its logical cycles."""
        return PortNest(self.clock(name).taken(nest.kept), nest.digits, shape)

    def own(self, name: str) -> PortNest:
        """The values of a statement in its logical cycles."""
        trips = self.trips(name)
        return PortNest(self.clock(name), tuple(self.iterations(name, k) for k in range(len(trips))), trips)

    def distance(self, dependence: Dependence, reads: Reads) -> tuple[int, int]:
        """Least and most cycles from a value to its reads."""
        parts = reads.parts if prod(reads.trips) <= MOST_EVENTS else reads.pieces
        if parts is not None:
            ends = [part.ends(self._waits(dependence, part.nest)) for part in parts]
            return min(least for least, _ in ends), max(most for _, most in ends)
        cycles = self.times(dependence.sink)[reads.instances] - self.times(dependence.source)[reads.words]
        return int(cycles.min()), int(cycles.max())

    def _waits(self, dependence: Dependence, nest: ReadNest) -> LoopSum:
        """Cycles from values to their reads."""
        waits = self.clock(dependence.sink).taken(nest.kept).plus(-self.clock(dependence.source).base)
        for digit, step in zip(nest.digits, self.steps(dependence.source), strict=True):
            waits = waits.minus(digit.times(step))
        return waits

    def _require_few(self, name: str) -> None:
        count = prod(self.trips(name))
        if count > MOST_EVENTS:
            raise FpgaError(f"{self._statement(name)} has {count} instances, which would have to be listed; the fpga "
                            f"target lists up to {MOST_EVENTS}: compile a smaller image, a tile of it at a time")

    def reads(self, dependence: Dependence) -> Reads:
        """Who reads what: all instances of the reader, or some of them where it sees values of several statements."""
        if dependence not in self._reads:
            self._reads[dependence] = self._new_reads(dependence)
        return self._reads[dependence]

    def _new_reads(self, dependence: Dependence) -> Reads:
        (lows, trips), (first, shape) = map(self._corner, (dependence.sink, dependence.source))
        return Reads(dependence.relation, lows, trips, first, shape, lambda: self._require_few(dependence.sink))

    def _corner(self, name: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """First values of the iterators of a statement, and iterations of its loops."""
        return tuple(low for low, _ in constant_bounds(self._statement(name)).values()), self.trips(name)

    def live_words(self, name: str) -> int:
        """Most values of a statement that are produced and still to be read, at once; a value is not counted in the
        cycle of its last use. No implementation can do with less storage at this schedule. Of a statement with more
        than `MOST_WORDS` instances those of some iterations of its outer loops: there are at least as many."""
        (lows, _), kept = self._corner(name), _window(self.trips(name))
        born = self.clock(name).taken(kept).values()
        grid = np.meshgrid(*[part + low for part, low in zip(kept, lows, strict=True)], indexing="ij")
        gone = np.full(len(born), -1)
        for dependence in self.schedule.dependences:
            if dependence.source == name:
                gone = np.maximum(gone, self._last_reads(dependence, [axis.ravel() for axis in grid], len(born)))
        used = gone >= 0
        born, gone = born[used], np.sort(gone[used])
        alive = np.arange(1, len(born) + 1) - np.searchsorted(gone, born, side="right")
        return int(alive.max(initial=0))

    def _last_reads(self, dependence: Dependence, words: list[np.ndarray], count: int) -> np.ndarray:
        """Logical cycles of the last read of each of `count` words (columns of their iterators), -1 without any."""
        last = dependence.relation.reverse().lexmax()  # loops are nested in time as they are in the program
        inside = contains(last.domain(), words, count)
        found = evaluate_map(last, last.domain(), [column[inside] for column in words], int(inside.sum()))
        lows, _ = self._corner(dependence.sink)
        cycles = np.full(int(inside.sum()), self.clock(dependence.sink).base)
        for column, low, step in zip(found, lows, self.steps(dependence.sink), strict=True):
            cycles += (column - low) * step
        times = np.full(count, -1)
        times[inside] = cycles
        return times

    def _statement(self, name: str) -> Statement:
        return self.schedule.staged.program.statement(name)


def _window(trips: Sequence[int]) -> list[np.ndarray]:
    """Iterations of each loop, in the middle of the outer ones if together there are too many."""
    kept: list[np.ndarray] = []
    room = MOST_WORDS
    for count in reversed(trips):
        size = min(count, max(1, room))
        kept.insert(0, np.arange(size, dtype=np.int64) + (count - size) // 2)
        room //= size
    return kept
