"""The words that pass a port of a memory, in order, with their cycles: numbers instead of relations.

A memory stores words in the order in which its writer produces them, rows padded to whole fetches, so writing is
always contiguous (seed 001, section 6.1.3, footnote 2). A reader's address is the place of its producer there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm

import islpy as isl
import numpy as np

from compiler.bind.buffers.unified import ReadPort, UnifiedBuffer
from compiler.sched.affine import pieces
from compiler.sched.cycle_accurate import Schedule, StatementSchedule

__all__ = ["BufferTraffic", "ReadTraffic", "WriteTraffic", "array_traffic", "delay_traffic"]


@dataclass(frozen=True)
class WriteTraffic:
    """What the writer does in one tile: a nest, innermost loop first, with cycle and word-address strides."""

    ranges: tuple[int, ...]
    time: tuple[int, ...]
    time_offset: int
    address: tuple[int, ...]

    def words(self) -> tuple[np.ndarray, np.ndarray]:
        """Cycles and word addresses of all writes, in order."""
        time, address = np.array([self.time_offset]), np.array([0])
        for count, cycles, words in zip(self.ranges, self.time, self.address, strict=True):
            steps = np.arange(count)[:, None]
            time, address = (steps * cycles + time).ravel(), (steps * words + address).ravel()
        return time, address


@dataclass(frozen=True)
class ReadTraffic:
    """Cycles and word addresses of one reader in one tile, in order.

    Where `real` is false nobody uses the word: such reads only round a loop up, so that the nest stays regular.
    """

    name: str
    time: np.ndarray
    address: np.ndarray
    real: np.ndarray


@dataclass(frozen=True)
class BufferTraffic:
    """All traffic of one buffer that a memory holds, one tile of it.

    Tile t happens `period` cycles later than tile t-1 with addresses advanced by `tile_words`. A delay line has
    one very long tile; only its beginning, which is like the rest, is enumerated (`homogeneous`).
    """

    name: str
    write: WriteTraffic
    reads: tuple[ReadTraffic, ...]
    period: int
    tiles: int
    tile_words: int
    packing: int
    homogeneous: bool = False

    @cached_property
    def writes(self) -> tuple[np.ndarray, np.ndarray]:
        """Cycles and word addresses of the writes that are enumerated."""
        if self.homogeneous:
            count = len(self.reads[0].time)
            return np.arange(count) * self.write.time[0] + self.write.time_offset, np.arange(count)
        return self.write.words()


SAMPLE = 8192
"""Writes of a delay line that are enumerated."""


def delay_traffic(name: str, start: int, length: int, distances: Mapping[str, int], packing: int) -> BufferTraffic:
    """A delay line: one word per cycle from cycle `start` on, `length` words, each read `distances` cycles later."""
    inner = min(4096, -(-length // 4) * 4)
    ranges = (inner, -(-length // inner))
    longest = max(distances.values())
    sample = max(SAMPLE, 4 * longest)
    time, every = np.arange(sample) + start, np.ones(sample, dtype=bool)
    reads = tuple(ReadTraffic(key, time + distance, np.arange(sample), every) for key, distance in distances.items())
    write = WriteTraffic(ranges, (1, inner), start, (1, inner))
    return BufferTraffic(name, write, reads, 0, 1, 0, packing, homogeneous=True)


def array_traffic(schedule: Schedule, buffer: UnifiedBuffer, readers: Sequence[ReadPort],
                  packing: int) -> BufferTraffic:
    """The traffic of `readers` of `buffer`, whatever their order, with rows padded to whole wide words."""
    entry = buffer.writer.schedule
    trips = list(entry.trips.values())[::-1] or [1]
    times = list(entry.strides.values())[::-1] or [1]
    address, size = [], 1
    for level, count in enumerate(trips):
        address.append(size)
        size *= count if level else -(-count // packing) * packing
    write = WriteTraffic(tuple(trips), tuple(times), entry.offset, tuple(address))
    reads = tuple(_read_traffic(schedule, entry, write, reader) for reader in readers)
    return BufferTraffic(buffer.name, write, reads, schedule.period, schedule.staged.tiles, size, packing)


def _read_traffic(schedule: Schedule, producer: StatementSchedule, write: WriteTraffic,
                  reader: ReadPort) -> ReadTraffic:
    statement = schedule.staged.program.statement(reader.statement)
    depth = schedule.staged.tile_depth
    box = statement.box() or {}
    inner = statement.iterators[depth:]
    trips = _padded_trips(schedule, reader)
    grid = np.meshgrid(*[box[n][0] + np.arange(trips[n]) for n in inner], indexing="ij")
    shape = grid[0].shape if grid else ()
    coordinates = [*(np.full(shape, box[n][0]) for n in statement.iterators[:depth]), *grid]
    source = _evaluate_relation(reader.dependence.relation, coordinates)[depth:]
    address = sum(((index - low) * stride for index, low, stride in
                   zip(source, producer.low.values(), write.address[::-1], strict=False)), np.zeros(shape, np.int64))
    entry = reader.schedule
    time = sum(((g - entry.low[n]) * entry.strides[n] for g, n in zip(grid, inner, strict=True)),
               np.full(shape, entry.offset))
    real = np.ones(shape, dtype=bool)
    for g, n in zip(grid, inner, strict=True):
        real &= g <= box[n][1]
    return ReadTraffic(f"{reader.statement}.{reader.read}", time.ravel(), address.ravel(), real.ravel())


def _padded_trips(schedule: Schedule, reader: ReadPort) -> dict[str, int]:
    """Trip counts of the reader's loops, rounded up to the divisors in its access where the schedule leaves room."""
    trips = dict(reader.schedule.trips)
    statement = schedule.staged.program.statement(reader.statement)
    divisor = _common_divisor(reader.dependence.relation)
    if divisor > 1 and schedule.alignment % divisor == 0:
        for name in statement.iterators[schedule.staged.tile_depth:]:
            trips[name] = -(-trips[name] // divisor) * divisor
    return trips


def _common_divisor(relation: isl.Map) -> int:
    """Least common multiple of the divisors of all floors in a relation."""
    found = 1
    for _, function in pieces(relation):
        for k in range(function.dim(isl.dim_type.out)):
            part = function.get_aff(k)
            for d in range(part.dim(isl.dim_type.div)):
                found = lcm(found, part.get_div(d).get_denominator_val().to_python())
    return found


def _evaluate_relation(relation: isl.Map, coordinates: list[np.ndarray]) -> list[np.ndarray]:
    """Image of integer points under a single-valued relation."""
    parts = pieces(relation)
    if len(parts) == 1:
        function = parts[0][1]
        return [_evaluate(function.get_aff(k), coordinates) for k in range(function.dim(isl.dim_type.out))]
    size = relation.dim(isl.dim_type.out)
    results = [np.zeros(coordinates[0].shape, dtype=np.int64) for _ in range(size)]
    for domain, function in parts:
        inside = _contains(domain, coordinates)
        for k in range(size):
            results[k] = np.where(inside, _evaluate(function.get_aff(k), coordinates), results[k])
    return results


def _contains(domain: isl.Set, coordinates: list[np.ndarray]) -> np.ndarray:
    inside = np.zeros(coordinates[0].shape, dtype=bool)
    for basic in domain.make_disjoint().get_basic_sets():
        part = np.ones(coordinates[0].shape, dtype=bool)
        for constraint in basic.remove_redundancies().get_constraints():
            value = _evaluate(constraint.get_aff(), coordinates)
            part &= (value == 0) if constraint.is_equality() else (value >= 0)
        inside |= part
    return inside


def _evaluate(function: isl.Aff, coordinates: list[np.ndarray]) -> np.ndarray:
    numerator, denominator = _scaled(function, coordinates)
    return numerator // denominator


def _scaled(function: isl.Aff, coordinates: list[np.ndarray]) -> tuple[np.ndarray, int]:
    """Numerator and denominator of a quasi-affine function at integer points."""
    denominator = function.get_denominator_val().to_python()
    scaled = function.scale_val(isl.Val(denominator))

    def whole(value: isl.Val) -> int:
        return value.to_python()

    total = np.full(coordinates[0].shape if coordinates else (), whole(scaled.get_constant_val()), dtype=np.int64)
    for k, coordinate in enumerate(coordinates):
        total = total + whole(scaled.get_coefficient_val(isl.dim_type.in_, k)) * coordinate
    for k in range(scaled.dim(isl.dim_type.div)):
        weight = whole(scaled.get_coefficient_val(isl.dim_type.div, k))
        if weight:
            inner, inner_denominator = _scaled(function.get_div(k), coordinates)
            total = total + weight * (inner // inner_denominator)
    return total, denominator


