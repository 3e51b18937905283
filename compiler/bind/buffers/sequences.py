"""The words that pass a port of a memory, in order, with their cycles: numbers instead of relations.

A memory stores words in the order in which its writer produces them, rows padded to whole fetches, so writing is
always contiguous (Liu 2023, section 6.1.3, footnote 2). A reader's address is the place of its producer there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import gcd, lcm, prod

import islpy as isl
import numpy as np

from compiler.analysis.affine import pieces
from compiler.analysis.dependences import constant_bounds
from compiler.bind.buffers.iteration_samples import MOST_LISTED, IterationSamples, corners
from compiler.bind.buffers.nest_fit import FittedNest, fit_nest
from compiler.bind.buffers.unified import ReadPort, UnifiedBuffer
from compiler.ir.points import contains, evaluate_map
from compiler.sched.static.schedule import Schedule, StatementSchedule
from hw.errors import SluiceError

__all__ = ["GATHERED", "MOST_READS", "BufferTraffic", "Lattice", "ReadTraffic", "TooManyReads", "TrafficGroup",
           "WriteTraffic", "array_traffic", "delay_traffic", "exact_traffic"]

MOST_READS = 1 << 22
"""Reads by one statement in a tile that are listed."""


class TooManyReads(SluiceError):
    """A statement reads more values in a tile than are listed."""


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
    `samples`: of which iterations the reads are, if these stand for many others.
    """

    name: str
    time: np.ndarray
    address: np.ndarray
    real: np.ndarray
    samples: IterationSamples | None = None

    def fit(self, columns: Sequence[np.ndarray], max_dims: int) -> FittedNest | None:
        """The nest that enumerates `columns`, which have a value for each read; None if there is none of so many
        loops."""
        if self.samples is None:
            return fit_nest(list(columns), max_dims)
        if any(self.samples.steps(column) is None for column in columns):
            return None
        return self.samples.fit(lambda chosen: [column[chosen] for column in columns], max_dims)

    @property
    def cyclic(self) -> int | None:
        """Cycles after which sampled loops do the same again; None if all reads are listed."""
        steps = None if self.samples is None else self.samples.steps(self.time)
        return None if steps is None else gcd(*steps)


@dataclass(frozen=True)
class BufferTraffic:
    """All traffic of one buffer that a memory holds, one tile of it. `origin` as in `UnifiedBuffer`.

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
    origin: str = ""

    @property
    def title(self) -> str:
        """How messages name the buffer."""
        return f"{self.name} ({self.origin})" if self.origin else self.name

    @cached_property
    def writes(self) -> tuple[np.ndarray, np.ndarray]:
        """Cycles and word addresses of the writes that are enumerated."""
        if self.homogeneous:
            count = len(self.reads[0].time)
            return np.arange(count) * self.write.time[0] + self.write.time_offset, np.arange(count)
        return self.write.words()

    def over_tiles(self, *events: np.ndarray) -> list[np.ndarray]:
        """Cycles of events, given for the first tile, over as many tiles as show every overlap of tiles."""
        tiles = self.compared_tiles(*events)
        return [(np.arange(tiles)[:, None] * self.period + cycles[None, :]).ravel() for cycles in events]

    def compared_tiles(self, *events: np.ndarray) -> int:
        """Tiles after which nothing new happens: the first one, and those that begin before its last event."""
        if self.tiles == 1:
            return 1
        span = max(int(e.max()) for e in events if len(e)) - min(int(e.min()) for e in events if len(e))
        return min(self.tiles, 2 + span // self.period)


GATHERED, _SPARED = 64, 128
"""Cycles that the first word of a wide word may wait for the last one; and how many words may have one each."""

SAMPLE = 8192
"""Writes of a delay line that are enumerated."""


def delay_traffic(name: str, start: int, length: int, distances: Mapping[str, int], packing: int,
                  origin: str = "") -> BufferTraffic:
    """A delay line: one word per cycle from cycle `start` on, `length` words, each read `distances` cycles later."""
    inner = min(4096, -(-length // 4) * 4)
    ranges = (inner, -(-length // inner))
    longest = max(distances.values())
    sample = max(SAMPLE, 4 * longest)
    time, every = np.arange(sample) + start, np.ones(sample, dtype=bool)
    reads = tuple(ReadTraffic(key, time + distance, np.arange(sample), every) for key, distance in distances.items())
    write = WriteTraffic(ranges, (1, inner), start, (1, inner))
    return BufferTraffic(name, write, reads, 0, 1, 0, packing, homogeneous=True, origin=origin)


@dataclass(frozen=True)
class TrafficGroup:
    """Reads that one memory serves. `served[k]`: the readers, by number, that take the stream of read k of `traffic`,
    with the cycles by which they are later."""

    traffic: BufferTraffic
    served: tuple[dict[int, int], ...]


def array_traffic(schedule: Schedule, buffer: UnifiedBuffer, readers: Sequence[ReadPort],
                  packing: int) -> list[TrafficGroup]:
    """The traffic of `readers` of `buffer`, whatever their order, with rows padded to whole wide words.

    Readers of the same words at a constant distance share one read. A memory stores only the words that are read from
    it: those of the writer's iterations that lie a step apart between a first and a last one.
    """
    entry = buffer.writer.schedule
    groups: dict[Lattice, list[tuple[ReadTraffic, dict[int, int]]]] = {}
    for number, reader in enumerate(readers):
        lattice, read = _read_traffic(schedule, entry, reader, packing)
        same = groups.setdefault(lattice, [])
        for other, served in same:
            delay = _delay(other, read)
            if delay is not None:
                served[number] = delay
                break
        else:
            same.append((read, {number: 0}))
    found = []
    for lattice, reads in groups.items():
        write, size = lattice.write(entry, packing)
        traffic = BufferTraffic(buffer.name, write, tuple(read for read, _ in reads), schedule.period,
                                schedule.staged.tiles, size, packing, origin=buffer.origin)
        found.append(TrafficGroup(traffic, tuple(served for _, served in reads)))
    return found


def exact_traffic(schedule: Schedule, buffer: UnifiedBuffer, reader: ReadPort, packing: int) -> BufferTraffic:
    """The traffic of one reader, which reads in no other cycles than those of the instances that want a word."""
    lattice, read = _read_traffic(schedule, buffer.writer.schedule, reader, packing, listed=True)
    write, size = lattice.write(buffer.writer.schedule, packing)
    read = ReadTraffic(read.name, read.time[read.real], read.address[read.real], read.real[read.real])
    return BufferTraffic(f"{buffer.name} for {read.name}", write, (read,), schedule.period, schedule.staged.tiles, size,
                         packing, origin=buffer.origin)


def _delay(first: ReadTraffic, second: ReadTraffic) -> int | None:
    """Cycles by which `second` reads the same words later, None if it does anything else."""
    if len(first.time) != len(second.time) or not np.array_equal(first.address, second.address):
        return None
    gap = second.time - first.time
    same = gap[0] >= 0 and (gap == gap[0]).all() and np.array_equal(first.real, second.real)
    return int(gap[0]) if same else None


@dataclass(frozen=True)
class Lattice:
    """Iterations of a writer's loops, outermost first: in each loop `trips` of them, `steps` apart, from `firsts` on
    (counted from the loop's own first).

    The words of each iteration of loop `replacing` begin at a multiple of a power of two: a region of that size holds
    each word where the iteration before had it (a memory tile wraps addresses with a mask).
    """

    firsts: tuple[int, ...]
    steps: tuple[int, ...]
    trips: tuple[int, ...]
    replacing: int | None = None

    @staticmethod
    def around(numbers: Sequence[np.ndarray], replacing: int | None = None) -> Lattice:
        """The smallest lattice with these iterations, given per loop."""
        firsts = tuple(int(n.min()) for n in numbers)
        steps = tuple(int(np.gcd.reduce(n - first)) or 1 for n, first in zip(numbers, firsts, strict=True))
        trips = tuple((int(n.max()) - first) // step + 1 for n, first, step in zip(numbers, firsts, steps, strict=True))
        return Lattice(firsts, steps, trips, replacing)

    def words(self, entry: StatementSchedule, packing: int) -> tuple[tuple[int, ...], int]:
        """Words from one iteration of each loop to the next, rows padded to whole wide words, and of all together.
        Where rows come too slowly to be gathered in wide words, every word has one of its own."""
        row = self._row(entry, packing)
        strides, size = [], packing if row is None else 1
        for level, count in reversed(list(enumerate(self.trips))):
            size = 1 << (size - 1).bit_length() if level == self.replacing else size
            strides.append(size)
            size *= count if level != row else -(-count // packing) * packing
        return tuple(reversed(strides)), size

    def addresses(self, numbers: Sequence[np.ndarray], count: int, entry: StatementSchedule,
                  packing: int) -> np.ndarray:
        """Word addresses of `count` iterations, given per loop."""
        found = np.zeros(count, np.int64)
        for number, first, step, words in zip(numbers, self.firsts, self.steps, self.words(entry, packing)[0],
                                              strict=True):
            found += (number - first) // step * words
        return found

    def _times(self, entry: StatementSchedule) -> tuple[int, ...]:
        """Cycles from one iteration of each loop to the next."""
        return tuple(step * stride for step, stride in zip(self.steps, entry.strides.values(), strict=True))

    def _row(self, entry: StatementSchedule, packing: int) -> int | None:
        """The loop whose words lie side by side: the innermost one that has several, if these come soon after each
        other, or there is no loop inside it and they are too many for a wide word each."""
        moving = [level for level, count in enumerate(self.trips) if count > 1]
        if not moving:
            return None
        row = moving[-1]
        soon = self._times(entry)[row] * (packing - 1) <= GATHERED
        many = row == len(self.trips) - 1 and prod(self.trips) > _SPARED
        return row if soon or many else None

    def write(self, entry: StatementSchedule, packing: int) -> tuple[WriteTraffic, int]:
        """The writes of these iterations, and the words that they take."""
        address, size = self.words(entry, packing)
        times = self._times(entry)
        start = entry.offset + sum(first * s for first, s in zip(self.firsts, entry.strides.values(), strict=True))
        row = self._row(entry, packing)
        kept = [level for level, count in reversed(list(enumerate(self.trips))) if count > 1]
        loops = [(self.trips[level], times[level], address[level]) for level in kept]
        if row is None:
            loops.insert(0, (1, 1, 1))
        ranges, time, words = zip(*loops, strict=True)
        return WriteTraffic(ranges, time, start, words), size


def _read_traffic(schedule: Schedule, producer: StatementSchedule, reader: ReadPort, packing: int,
                  listed: bool = False) -> tuple[Lattice, ReadTraffic]:
    """What a reader reads: where that is much, for iterations that stand for all if there are such ones and it need not
    be `listed`."""
    statement = schedule.staged.program.statement(reader.statement)
    trips = _padded_trips(schedule, reader)
    counts = [trips[n] for n in statement.iterators[schedule.staged.tile_depth:]]
    if (reads := prod(counts)) > MOST_LISTED and not listed:
        some = IterationSamples.few(counts, _around(schedule, reader))
        found = _sampled_traffic(schedule, producer, reader, packing, some) if some.points <= MOST_READS else None
        if found is not None and found[1].samples is not None:
            return found
    if reads > MOST_READS:
        raise TooManyReads(f"{statement}: the {reads} values that it reads in a tile would have to be listed, more "
                           f"than {MOST_READS}: add tile loops around all statements")
    everything = IterationSamples(tuple(counts), tuple(map(np.arange, counts)))
    return _sampled_traffic(schedule, producer, reader, packing, everything)


def _around(schedule: Schedule, reader: ReadPort) -> list[list[int]]:
    """By loop of a reader's tile the iterations in which corners of what it reads lie."""
    statement, depth = schedule.staged.program.statement(reader.statement), schedule.staged.tile_depth
    box = constant_bounds(statement)
    served = reader.dependence.relation.domain()
    for k in range(depth):
        served = served.fix_val(isl.dim_type.set, k, isl.Val(box[statement.iterators[k]][0]))
    found = corners(served)
    return [[corner[k] - box[name][0] for corner in found]
            for k, name in list(enumerate(statement.iterators))[depth:]]


def _sampled_traffic(schedule: Schedule, producer: StatementSchedule, reader: ReadPort, packing: int,
                     samples: IterationSamples) -> tuple[Lattice, ReadTraffic]:
    """The traffic of some iterations, without `samples` in it if these do not stand for all."""
    statement = schedule.staged.program.statement(reader.statement)
    depth = schedule.staged.tile_depth
    box = constant_bounds(statement)
    inner = statement.iterators[depth:]
    grid = samples.grid() if inner else np.zeros((0, 1), np.int64)
    count = grid.shape[1]
    columns = [*(np.full(count, box[n][0]) for n in statement.iterators[:depth]),
               *(g + box[n][0] for g, n in zip(grid, inner, strict=True))]
    relation = reader.dependence.relation
    served = relation.domain()
    sources = [evaluate_map(function, statement.domain, columns, count)[depth:] for function in _everywhere(relation)]
    entry = reader.schedule
    time, real = np.full(count, entry.offset), np.ones(count, dtype=bool)
    for g, n in zip(grid, inner, strict=True):
        time += g * entry.strides[n]
        real &= g < entry.trips[n]
    if not statement.domain.is_subset(served):
        real &= contains(served, columns, count)
    numbers = [[index - low for index, low in zip(source, producer.low.values(), strict=True)] for source in sources]
    lattice = Lattice.around([n[real] for n in numbers[0]], _replacing(sources[1:]) if packing == 1 else None)
    addresses = [lattice.addresses(some, count, producer, packing) for some in numbers]
    address = _continued(addresses, real) if len(addresses) > 1 else addresses[0]
    address = _evenly(address, real, grid) if not real.all() else address
    stands = samples if samples.sampled and len(addresses) == 1 and samples.steps(address) is not None else None
    return lattice, ReadTraffic(f"{reader.statement}.{reader.read}", time, address, real, stands)


def _replacing(sources: Sequence[Sequence[np.ndarray]]) -> int | None:
    """The loop of the producer whose iterations replace words, seen from a reader: of the iterations that it reads, by
    several functions of its own loops, some are one iteration of that loop apart, and no other loop."""
    for first, second in pairwise(sources):
        apart = [(b - a).tolist() for a, b in zip(first, second, strict=True)]
        moved = [level for level, distances in enumerate(apart) if any(distances)]
        if len(moved) == 1 and set(apart[moved[0]]) in ({1}, {-1}):
            return moved[0]
    return None


def _evenly(address: np.ndarray, real: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Addresses that go on as the real ones do where nobody uses the word, so that they are a loop nest: those of the
    affine function of the loops, if there is one that the real ones follow."""
    terms = np.vstack([np.ones(grid.shape[1], np.int64), grid]).T
    found = np.rint(np.linalg.lstsq(terms[real], address[real], rcond=None)[0]).astype(np.int64)
    even = terms @ found
    return even if np.array_equal(even[real], address[real]) else address


def _continued(addresses: Sequence[np.ndarray], real: np.ndarray) -> np.ndarray:
    """The first of the `addresses`, and where nobody uses the word what the first other ones say that exist."""
    found, size = addresses[0], int(addresses[0][real].max()) + 1
    left = ~real
    for other in addresses[1:]:
        here = left & (other >= 0) & (other < size)
        found, left = np.where(here, other, found), left & ~here
    return found


def _everywhere(relation: isl.Map) -> list[isl.Map]:
    """A function that agrees with `relation` on its domain and goes on evenly beyond it, if it has one piece; else
    `relation`, and what its pieces are everywhere."""
    parts = [isl.Map.from_multi_aff(function) for _, function in pieces(relation)]
    return [relation, *parts] if len(parts) > 1 else parts


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
