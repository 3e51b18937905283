"""Times of all instances as numbers: what schedules are rated and checked by while one is looked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from functools import cached_property, reduce

import islpy as isl
import numpy as np

from compiler.analysis.dependences import Dependence
from compiler.analysis.instance_budget import count_instances
from compiler.ir.points import enumerate_points, evaluate_map
from compiler.ir.program import Program
from compiler.ir.relations import coordinates

__all__ = ["Flows", "PointNumbers", "Times", "Vectors", "time_keys", "varying"]

_ODD = 0x9E3779B97F4A7C15
"""A random number; its powers tell time dimensions apart in keys."""

_MOST_INSTANCES = 200_000

_MOST_KNOWN = 3
"""Times of one statement whose vectors are kept."""

Times = Mapping[str, isl.Map]
"""Statement name -> {statement[iterators] -> [time]}: one space of times for all."""


class PointNumbers:
    """The points of a set, numbered from 0 in lexicographic order."""

    def __init__(self, domain: isl.Set) -> None:
        self.count, self.columns = enumerate_points(domain)
        self._low = [int(np.min(c, initial=0)) for c in self.columns]
        self._extent = [int(np.max(c, initial=0)) - low + 1 for c, low in zip(self.columns, self._low, strict=True)]
        self._present = np.sort(self._key(self.columns, self.count))

    def numbers(self, columns: Sequence[np.ndarray], count: int) -> np.ndarray:
        """The numbers of `count` points of the set, given by their coordinates."""
        return np.searchsorted(self._present, self._key(columns, count))

    def _key(self, columns: Sequence[np.ndarray], count: int) -> np.ndarray:
        key = np.zeros(count, np.int64)
        for column, low, extent in zip(columns, self._low, self._extent, strict=True):
            key = key * extent + (column - low)
        return key


class Vectors:
    """The time vectors of all instances of statements, int64 of shape [time dimensions, instances]."""

    def __init__(self, program: Program) -> None:
        self._domains = {s.name: s.domain for s in program.statements}
        self._points: dict[str, PointNumbers] = {}
        self._known: dict[str, deque[tuple[isl.Map, np.ndarray]]] = {}

    def __call__(self, times: Times) -> np.ndarray:
        """Those of all statements in `times`, one after the other."""
        return np.concatenate([self.of(name, times) for name in times], axis=1)

    @cached_property
    def few(self) -> bool:
        """Whether there are so few instances that looking at all of them is quick."""
        return sum(count_instances(domain) for domain in self._domains.values()) <= _MOST_INSTANCES

    def different(self, times: Times) -> int:
        """How many different times there are."""
        if self.few:
            return len(np.unique(time_keys(self(times))))
        return count_instances(_union(times))

    def extents(self, times: Times) -> tuple[list[int], list[int]]:
        """Least and greatest value of each time dimension."""
        if self.few:
            vectors = self(times)
            return vectors.min(axis=1).tolist(), vectors.max(axis=1).tolist()
        total = _union(times)
        dims = range(total.dim(isl.dim_type.set))
        return ([total.dim_min_val(dim).to_python() for dim in dims],
                [total.dim_max_val(dim).to_python() for dim in dims])

    def points(self, name: str) -> PointNumbers:
        """The instances of a statement."""
        if name not in self._points:
            self._points[name] = PointNumbers(self._domains[name])
        return self._points[name]

    def of(self, name: str, times: Times) -> np.ndarray:
        """Those of one statement."""
        for time, vectors in self._known.get(name, ()):
            if time is times[name]:
                return vectors
        points = self.points(name)
        values = evaluate_map(times[name], self._domains[name], points.columns, points.count)
        found = np.stack([np.broadcast_to(np.asarray(v, np.int64), points.count) for v in values])
        self.learn(name, times[name], found)
        return found

    def learn(self, name: str, time: isl.Map, vectors: np.ndarray) -> None:
        """The vectors of one statement at `time`, if they are known without looking at the map."""
        self._known.setdefault(name, deque(maxlen=_MOST_KNOWN)).appendleft((time, vectors))


class Flows:
    """The values that pass between instances: for every dependence the number of the reading and of the writing
    instance of each."""

    def __init__(self, program: Program, dependences: tuple[Dependence, ...], vectors: Vectors) -> None:
        self.dependences = dependences
        self.vectors = vectors
        self._pairs: dict[int, tuple[Dependence, tuple[np.ndarray, np.ndarray]]] = {}

    def _instances(self, dependence: Dependence) -> tuple[np.ndarray, np.ndarray]:
        if id(dependence) not in self._pairs:
            # Kept beside its numbers, so that no other one gets its id.
            self._pairs[id(dependence)] = dependence, self._numbered(dependence)
        return self._pairs[id(dependence)][1]

    def _numbered(self, dependence: Dependence) -> tuple[np.ndarray, np.ndarray]:
        domain = dependence.relation.domain()
        count, columns = enumerate_points(domain)
        written = [np.broadcast_to(c, count) for c in evaluate_map(dependence.relation, domain, columns, count)]
        sink, source = self.vectors.points(dependence.sink), self.vectors.points(dependence.source)
        return sink.numbers(columns, count), source.numbers(written, count)

    def distances(self, dependence: Dependence, points: Mapping[str, np.ndarray]) -> np.ndarray:
        """What `points` has for the instances that read less what it has for those that write, both int64 of shape
        [dimensions, instances]: of shape [dimensions, values]."""
        reads, writes = self._instances(dependence)
        return points[dependence.sink][:, reads] - points[dependence.source][:, writes]

    def time_distances(self, dependence: Dependence, times: Times) -> np.ndarray:
        """Times of the reads less times of the writes: int64 of shape [time dimensions, values]."""
        return self.distances(dependence, {name: self.vectors.of(name, times)
                                           for name in (dependence.sink, dependence.source)})

    def hold(self, dependence: Dependence, times: Times) -> bool:
        """Whether no value is read before it is written; a statement reads its own at a later time."""
        distances = self.time_distances(dependence, times)
        later = np.zeros(distances.shape[1], np.int64)
        for row in distances:
            later = np.where(later == 0, np.sign(row), later)
        return bool((later > 0).all() if dependence.sink == dependence.source else (later >= 0).all())


    def greatest_advance(self, dependence: Dependence, times: Times) -> tuple[int, ...]:
        """The lexicographic maximum of (write - read), whatever the number of instances."""
        timed = dependence.relation.apply_domain(times[dependence.sink]).apply_range(times[dependence.source])
        return coordinates(timed.deltas().lexmax().sample_point())

    def meet(self, dependence: Dependence, times: Times) -> bool:
        """Whether some value is read at the time at which it is written."""
        return bool((self.time_distances(dependence, times) == 0).all(axis=0).any())


def _union(times: Times) -> isl.Set:
    """All times at which anything fires."""
    return reduce(isl.Set.union, (time.range() for time in times.values())).coalesce()


def time_keys(vectors: np.ndarray) -> np.ndarray:
    """One number for every vector, by which equal ones are counted: a linear function modulo 2**64, so different
    vectors have the same number with a chance of 1 to 2**64 only."""
    keys = np.zeros(vectors.shape[1], np.uint64)
    for dim, column in enumerate(vectors):
        keys += column.astype(np.uint64) * np.uint64(pow(_ODD, dim + 1, 1 << 64))
    return keys


def varying(vectors: np.ndarray, sizes: int) -> list[int]:
    """Time dimensions after the first `sizes` that have several values, outermost first."""
    varies = vectors.min(axis=1) < vectors.max(axis=1)
    return [dim for dim in np.flatnonzero(varies).tolist() if dim >= sizes]
