"""Proofs about cells of a pipeline for all instances of a loop nest at once.

What is proven is read off the cells: that a tap carries, in cycles that are a sum over loops, the values that another
such sum names. Where it comes from is searched for (a cycle is decoded into the loops of a walk or of a statement,
digit by digit) and then compared, table by table; nothing is taken from the planner of buffers. What is not proven this
way is not wrong: it has to be looked at event by event (`compiler.bind.fpga.validate`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

import numpy as np

from compiler.analysis.loop_regions import LoopRegion, least_in, most_in
from compiler.analysis.port_nests import LoopSum, PortNest, constant_sum, loop_sum, word_numbers
from compiler.analysis.word_lifetimes import born_at_most, most_waiting
from compiler.sched.verify import Source
from hw.pipeline.spec import (
    BUFFER_LATENCY,
    BufferCell,
    ConstantCell,
    CounterCell,
    InputCell,
    LineCell,
    MergeCell,
    OperatorCell,
    PipelineSpec,
    Tap,
    Walk,
)
from hw.pipeline.streams import ArrayStream

__all__ = ["NestProof", "Value", "decode", "element_positions", "walk_times"]

_MOST_PLACES = 1 << 20
_UNUSED = -(1 << 58)
_NOTHING = 1 << 58


@dataclass(frozen=True, eq=False)
class Value:
    """What is meant in each iteration of a nest: the value of instance `digits` of a statement, or element `digits` of
    an input array, of `source`; or the `constant`. `born`: instance that brings it into the pipeline, if it is an
    element. `region`: iterations in which it is meant; in the others (None: there are none) anything may be."""

    source: Source
    digits: tuple[LoopSum, ...]
    constant: int | None = None
    born: tuple[str, tuple[LoopSum, ...]] | None = None
    region: LoopRegion | None = None

    def least(self, function: LoopSum) -> int:
        """The smallest value of a function where something is meant; a large one if nothing is."""
        least = least_in(function, self.region)
        return _NOTHING if least is None else least

    def taken(self, kept: Sequence[np.ndarray]) -> Value:
        """The same for some iterations."""
        return self.over(self.region and self.region.taken(kept), lambda function: function.taken(kept))

    def over(self, region: LoopRegion | None, function: Callable[[LoopSum], LoopSum]) -> Value:
        """The same in another nest, given what becomes of functions there."""
        born = self.born and (self.born[0], tuple(map(function, self.born[1])))
        return replace(self, digits=tuple(map(function, self.digits)), born=born, region=region)


@dataclass(frozen=True, eq=False)
class NestProof:
    """`carries`: cells with the values of statements, `clocks`: the cycles in which they are there; `streams` of those
    that load, `shapes` of arrays."""

    spec: PipelineSpec
    carries: Mapping[int, str]
    clocks: Mapping[str, LoopSum]
    streams: Mapping[str, ArrayStream]
    shapes: Mapping[str, tuple[int, ...]]

    def carried(self, tap: Tap, cycles: LoopSum, value: Value) -> bool:
        """Whether a tap is proven to carry `value` in `cycles`."""
        cell, cycles = self.spec.cells[tap.cell], cycles.plus(-tap.cycles)
        if tap.cell in self.carries:
            return self._own(self.carries[tap.cell], isinstance(cell, InputCell), cycles, value)
        match cell:
            case LineCell():
                return self.carried(cell.source, cycles.plus(-cell.cycles), value)
            case BufferCell():
                return self._stored(cell, cycles, value)
            case MergeCell():
                return self._merged(cell, cycles, value)
            case ConstantCell():
                return value.constant == cell.value
            case OperatorCell(op="cast", operands=(source,), words=(word,)) if word == cell.word:
                return self.carried(source, cycles.plus(-cell.latency), value)
        return False

    def counts(self, cell: CounterCell, cycles: LoopSum, meant: LoopSum) -> bool:
        """Whether a counter is proven to count `meant`, but for multiples of its size, in `cycles`."""
        digits = _walk_digits(cell.walk, cycles)
        addresses = None if digits is None else _addresses(cell.walk, digits, cycles.trips)
        return addresses is not None and _multiple(addresses.minus(meant), cell.walk.size)

    def _own(self, name: str, loads: bool, cycles: LoopSum, value: Value) -> bool:
        """Whether a statement's value is there in these cycles."""
        clock = self.clocks[name]
        if not loads:
            if value.constant is not None or value.source != Source(name, computed=True):
                return False
            return _at(clock, value.digits, cycles.trips).same(cycles)
        digits = decode(cycles.plus(-clock.base), _steps(clock), clock.trips)
        stream = self.streams[name]
        if digits is None or value.constant is not None or value.source != Source(stream.name, computed=False):
            return False
        place = word_numbers(digits, clock.trips, cycles.trips)
        found = _stream_bytes(stream, place)
        meant = word_numbers(value.digits, self.shapes[stream.name], cycles.trips)
        return found is not None and found.same(meant.times(stream.element_bytes))

    # Buffers.

    def _stored(self, cell: BufferCell, cycles: LoopSum, value: Value) -> bool:
        """Whether a buffer gives the value: an event of a write stores it, one of a read is in time, and addresses are
        written in turn, so that the place is not written again before."""
        reads = cycles.plus(-BUFFER_LATENCY)
        writes = self._brought(cell.source, value, cycles.trips)
        if writes is None or value.least(reads.minus(writes)) < 1:
            return False
        read_at, write_at = (_walk_digits(walk, times, value.region)
                             for walk, times in ((cell.read, reads), (cell.write, writes)))
        if read_at is None or write_at is None or not _in_turn(cell.write):
            return False
        trips = cycles.trips
        addresses = _addresses(cell.read, read_at, trips), _addresses(cell.write, write_at, trips)
        if addresses[0] is None or addresses[1] is None or not _multiple(addresses[0].minus(addresses[1]), cell.depth):
            return False
        kept = _kept(cell, reads, write_at) or _kept_in_region(cell, reads, write_at, value)
        return kept and self.carried(cell.source, writes, value)

    def _brought(self, tap: Tap, value: Value, trips: Sequence[int]) -> LoopSum | None:
        """Cycles in which a tap may have a value: looked for, and compared by others."""
        cell, name = self.spec.cells[tap.cell], self.carries.get(tap.cell)
        if name is not None:
            digits = _digits_of(value, name)
            return None if digits is None else _at(self.clocks[name], digits, trips).plus(tap.cycles)
        if not isinstance(cell, LineCell | BufferCell):
            return None
        before = self._brought(cell.source, value, trips)
        if before is None or isinstance(cell, LineCell):
            return before and before.plus(tap.cycles + _delay(cell))
        return _emitted(cell, before).plus(tap.cycles)

    # Merges.

    def _merged(self, cell: MergeCell, cycles: LoopSum, value: Value) -> bool:
        """Whether a merge gives the value: in the cycles of its events that of the source that is selected."""
        digits = _walk_digits(cell.select, cycles)
        addresses = None if digits is None else _addresses(cell.select, digits, cycles.trips)
        if addresses is None:
            return False
        side = _side(cell, addresses, value)
        if side is not None:
            return self.carried(cell.sources[side], cycles, value)
        moving = [k for k, table in enumerate(addresses.tables) if (table % cell.select.size).any()]
        if len(moving) > 1:
            return False
        loop = moving[0] if moving else 0
        table = addresses.tables[loop] if addresses.tables else np.zeros(1, np.int64)
        above = (addresses.base + table) % cell.select.size >= cell.cut
        for number, source in enumerate(cell.sources):
            places = np.flatnonzero(above == bool(number))
            if not len(places):
                continue
            kept = [places if k == loop else np.arange(n) for k, n in enumerate(cycles.trips)]
            if not self.carried(source, cycles.taken(kept), value.taken(kept)):
                return False
        return True


def _side(cell: MergeCell, addresses: LoopSum, value: Value) -> int | None:
    """The number of the source that a merge gives wherever something is meant; None if that is not one."""
    addresses = LoopSum(addresses.base, tuple(_unwrapped(table, cell.select.size) for table in addresses.tables))
    least, most = value.least(addresses), -value.least(addresses.times(-1))
    around = least // cell.select.size * cell.select.size
    if most - around >= cell.select.size or (least - around < cell.cut <= most - around):
        return None
    return int(least - around >= cell.cut)


def _unwrapped(table: np.ndarray, size: int) -> np.ndarray:
    """Addresses modulo `size` that advance by as little as they can."""
    steps = (np.diff(table, prepend=table[:1]) + size // 2) % size - size // 2
    return np.cumsum(steps)


# Clocks and walks.


def _digits_of(value: Value, name: str) -> tuple[LoopSum, ...] | None:
    """Instances of a statement that bring a value into the pipeline, None if they do not."""
    if value.born is not None and value.born[0] == name:
        return value.born[1]
    return value.digits if value.source == Source(name, computed=True) and value.constant is None else None


def _emitted(cell: BufferCell, writes: LoopSum) -> LoopSum:
    """Cycles in which a buffer may give what it gets in those of `writes`: one of the same number, if both go in turn,
    or else as much later as the first one."""
    digits = _walk_digits(cell.write, writes)
    if digits is not None and _in_turn(cell.write) and _in_turn(cell.read):
        number = word_numbers(digits, [level.trips for level in cell.write.levels[::-1]], writes.trips)
        times = walk_times(cell.read, number.plus(cell.write.origin - cell.read.origin))
        if times is not None:
            return times.plus(BUFFER_LATENCY)
    return writes.plus(_delay(cell))


def _delay(cell: LineCell | BufferCell) -> int:
    """Cycles from the first word into a memory to the first one out of it."""
    return cell.cycles if isinstance(cell, LineCell) else cell.read.start + BUFFER_LATENCY - cell.write.start


def _steps(clock: LoopSum) -> list[int]:
    """Cycles of a step of each loop of a linear function."""
    return [int(table[1]) if len(table) > 1 else 0 for table in clock.tables]


def _at(clock: LoopSum, digits: Sequence[LoopSum], trips: Sequence[int]) -> LoopSum:
    """A linear function of the iterations `digits`, which are functions on a box of `trips`."""
    total = constant_sum(clock.base, trips)
    for digit, step in zip(digits, _steps(clock), strict=True):
        total = total.plus(digit.times(step))
    return total


def decode(value: LoopSum, steps: Sequence[int], trips: Sequence[int],
           region: LoopRegion | None = None) -> tuple[LoopSum, ...] | None:
    """Iterations of loops, outermost first, that are `value` together; None if none are found. They are compared, in a
    `region`, if there is one: elsewhere there may be no such iterations."""
    [alone] = value.moving if len(value.moving) == 1 else [-1]
    rest = [np.array([0 if alone >= 0 else value.base]), *value.tables]
    if alone >= 0:  # there are no carries to or from other loops
        rest[alone + 1] = rest[alone + 1] + value.base
    digits = []
    for step, count in zip(steps, trips, strict=True):
        parts = [np.zeros_like(table) if count == 1 or not step else np.sign(table) * (np.abs(table) // step)
                 for table in rest]
        rest = [table - step * part for table, part in zip(rest, parts, strict=True)]
        digit = loop_sum(int(parts[0][0]), parts[1:])
        least, most = least_in(digit, region), most_in(digit, region)
        if least is not None and most is not None and (least < 0 or most >= count):
            return None
        digits.append(digit)
    return None if any(table.any() for table in rest) else tuple(digits)


def _level_steps(walk: Walk) -> list[int]:
    """Cycles of a step of each level, innermost first."""
    found, span = [], 0
    for level in walk.levels:
        found.append(level.gap + span)
        span += (level.trips - 1) * found[-1]
    return found


def _walk_digits(walk: Walk, cycles: LoopSum, region: LoopRegion | None = None) -> tuple[LoopSum, ...] | None:
    """Iterations of the levels of a walk, outermost first, whose events are in `cycles`."""
    trips = [level.trips for level in walk.levels[::-1]]
    return decode(cycles.plus(-walk.start), _level_steps(walk)[::-1], trips, region)


def _advances(walk: Walk) -> list[np.ndarray | int]:
    """What an address advances by up to each iteration of each level, innermost first: a table, or the same in each
    step."""
    found: list[np.ndarray | int] = []
    span = 0
    for level in walk.levels:
        if len(level.deltas) == 1:
            found.append(level.deltas[0] + span)
            span += (level.trips - 1) * (level.deltas[0] + span)
        else:
            steps = np.resize(np.array(level.deltas, np.int64), level.trips - 1) + span
            table = np.concatenate([[0], np.cumsum(steps)])
            found.append(table)
            span += int(table[-1])
        span %= walk.size
    return found


def _addresses(walk: Walk, digits: Sequence[LoopSum], trips: Sequence[int]) -> LoopSum | None:
    """Addresses of events, but for multiples of the walk's size; None if they are no sum."""
    total = constant_sum(walk.origin, trips)
    for digit, advance in zip(digits, _advances(walk)[::-1], strict=True):
        if not isinstance(advance, int):
            if len(digit.moving) > 1:
                return None
            part = loop_sum(0, [advance[digit.base + table] if k in digit.moving else np.zeros(len(table), np.int64)
                                for k, table in enumerate(digit.tables)])
            part = part if digit.moving else part.plus(int(advance[digit.base]))
        else:
            part = digit.times(advance)
        total = total.plus(part)
    return total


def _multiple(function: LoopSum, size: int) -> bool:
    return function.base % size == 0 and not any((table % size).any() for table in function.tables)


def _in_turn(walk: Walk) -> bool:
    """Whether each event has the address after that of the one before."""
    return all(delta % walk.size == 1 % walk.size for level in walk.levels for delta in level.deltas)


def _kept(cell: BufferCell, reads: LoopSum, write_at: Sequence[LoopSum]) -> bool:
    """Whether every word is still there when it is read: at most as many are written, it included, as there are
    places."""
    births, digits = [], []
    for level, step, digit in zip(cell.write.levels[::-1], _level_steps(cell.write)[::-1], write_at, strict=True):
        counts, weights = _parts(digit, level.trips)
        found = decode(digit, weights, counts)
        if found is None or max(counts) > _MOST_PLACES:
            return False
        births += [np.arange(n, dtype=np.int64) * (step * weight) for n, weight in zip(counts, weights, strict=True)]
        digits += found
    port = PortNest(reads, tuple(digits), tuple(len(axis) for axis in births))
    if port.axes is None:
        return False
    uses = []
    for k, axis in enumerate(port.axes):
        last = np.full(len(births[k]), _UNUSED)
        last[axis] = port.extreme(k, latest=True)
        uses.append(last)
    waiting = most_waiting(births, uses, port.rest(latest=True) - cell.write.start)
    return waiting is not None and waiting <= cell.depth


def _kept_in_region(cell: BufferCell, reads: LoopSum, write_at: Sequence[LoopSum], value: Value) -> bool:
    """The same, of words in any affine order, where something is meant; or no more are written after the first of them
    that is read, it included, until the end."""
    births, rank = [], constant_sum(0, reads.trips)
    for level, step, digit in zip(cell.write.levels[::-1], _level_steps(cell.write)[::-1], write_at, strict=True):
        counts, weights = _parts(digit, level.trips)
        if max(counts) > _MOST_PLACES:
            return False
        births += [np.arange(n, dtype=np.int64) * (step * weight) for n, weight in zip(counts, weights, strict=True)]
        rank = rank.times(level.trips).plus(digit)
    waiting = born_at_most(births, reads.plus(-cell.write.start)).minus(rank)
    return min(-value.least(waiting.times(-1)), prod(map(len, births)) - value.least(rank)) <= cell.depth


def _parts(digit: LoopSum, trips: int) -> tuple[list[int], list[int]]:
    """A level as loops, outermost first, of which each is moved by one of the loops that move its iteration, where that
    divides: their iterations, and those of the level in a step."""
    bounds = [1]
    for step in sorted({int(np.gcd.reduce(digit.tables[k])) for k in digit.moving}):
        if step > bounds[-1] and step % bounds[-1] == 0 and trips % step == 0:
            bounds.append(step)
    bounds.append(trips)
    counts = [outer // inner for inner, outer in pairwise(bounds)]
    return counts[::-1], bounds[-2::-1]


# Streams.


def _loops(stream: ArrayStream) -> tuple[list[int], list[int], list[int]]:
    """Counts of a stream's loops, outermost first, bytes of a step of each, and elements of it."""
    loops = [*reversed(stream.levels), (stream.row, stream.element_bytes)]
    counts = [count for count, _ in loops]
    return counts, [stride for _, stride in loops], [prod(counts[k + 1 :]) for k in range(len(counts))]


def _stream_bytes(stream: ArrayStream, place: LoopSum) -> LoopSum | None:
    """Bytes of the elements at places of a stream."""
    counts, strides, weights = _loops(stream)
    digits = decode(place, weights, counts)
    if digits is None:
        return None
    total = constant_sum(stream.offset, place.trips)
    for digit, stride in zip(digits, strides, strict=True):
        total = total.plus(digit.times(stride))
    return total


def element_positions(stream: ArrayStream, elements: LoopSum) -> LoopSum | None:
    """Places of elements in a stream; None if they are not found."""
    counts, strides, weights = _loops(stream)
    order = sorted(range(len(counts)), key=lambda k: -abs(strides[k]))
    wanted = elements.times(stream.element_bytes).plus(-stream.offset)
    digits = decode(wanted, [strides[k] for k in order], [counts[k] for k in order])
    if digits is None:
        return None
    total = constant_sum(0, elements.trips)
    for k, digit in zip(order, digits, strict=True):
        total = total.plus(digit.times(weights[k]))
    return total


def walk_times(walk: Walk, numbers: LoopSum) -> LoopSum | None:
    """Cycles of events of a walk, by their numbers; None if they are no sum."""
    trips = [level.trips for level in walk.levels[::-1]]
    digits = decode(numbers, [prod(trips[k + 1 :]) for k in range(len(trips))], trips)
    if digits is None:
        return None
    total = constant_sum(walk.start, numbers.trips)
    for digit, step in zip(digits, _level_steps(walk)[::-1], strict=True):
        total = total.plus(digit.times(step))
    return total
