"""Buffers between two streams that are loop nests: what is stored, addresses and depth, from the tables of loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from compiler.analysis.loop_regions import least_in
from compiler.analysis.port_nests import LoopSum, PortNest, constant_sum, loop_sum, table_sum
from compiler.analysis.word_lifetimes import most_waiting
from compiler.bind.fpga.address_generator_fit import build_walk
from compiler.bind.fpga.distinct_words import first_places, last_places
from compiler.bind.fpga.nest_fit import fit_nest
from compiler.bind.fpga.traces import Trace
from compiler.bind.fpga.walk_meetings import may_meet
from hw.pipeline.spec import BUFFER_LATENCY, BufferCell, Tap, Word

__all__ = ["Axis", "Unlike", "axes_of", "nest_buffer", "product_words", "stored_boxes", "stored_nests", "storing_order",
           "written_ranks"]

_UNUSED = -(1 << 58)


class Unlike:
    """Streams of which tables say nothing."""


@dataclass(frozen=True, eq=False)
class Axis:
    """A digit of the words: its values in the order in which they are stored, the part of the cycle of the first and
    of the last time for each, and the loop (None: always the same value) with the place of each iteration's value."""

    values: np.ndarray
    first: np.ndarray
    last: np.ndarray
    loop: int | None
    places: np.ndarray


def stored_nests(feed: PortNest, goal: PortNest) -> Iterator[PortNest] | None:
    """Which events of the feed to store: each wanted word once, the last or the first time, or every time, or
    everything. None if that is no nest."""
    if feed.owners is None or goal.axes is None or any(len(loops) > 1 for loops in feed.owners):
        return None
    return stored_boxes(feed, goal.axes)


def stored_boxes(feed: PortNest, box: Sequence[np.ndarray]) -> Iterator[PortNest]:
    """As `stored_nests`, for the words of a box: values of each digit, ascending. One loop at most moves a digit of
    the feed."""
    every = [np.arange(n) for n in feed.times.trips]
    return (feed.taken(kept) for kept in _distinct(_choices(feed, box, every)))


def _choices(feed: PortNest, box: Sequence[np.ndarray], every: list[np.ndarray]) -> Iterator[list[np.ndarray]]:
    assert feed.owners is not None
    wanted, once_last, once_first = list(every), list(every), list(every)
    for digit, loops, axis in zip(feed.digits, feed.owners, box, strict=True):
        for loop in loops:
            values = digit.tables[loop] + digit.base
            wanted[loop] = np.flatnonzero(np.isin(values, axis))
            inside = values[wanted[loop]]
            once_first[loop] = wanted[loop][np.sort(first_places(inside)[1])]
            once_last[loop] = wanted[loop][np.sort(last_places(inside)[1])]
    for loop in feed.free:
        once_first[loop], once_last[loop] = every[loop][:1], every[loop][-1:]
    yield from (once_last, once_first, wanted, every)


def _distinct(choices: Iterator[list[np.ndarray]]) -> Iterator[list[np.ndarray]]:
    known: list[list[np.ndarray]] = []
    for kept in choices:
        if all(len(part) for part in kept) and not any(all(map(np.array_equal, kept, other)) for other in known):
            known.append(kept)
            yield kept


def nest_buffer(tap: Tap, feed: PortNest, wanted: Trace, word: Word) -> BufferCell | Unlike | None:
    """A buffer that stores what `feed` brings and reads what `wanted`, a nest, carries; None if there is none."""
    axes, goal = axes_of(feed), wanted.nest
    if goal is None or goal.axes is None or axes is None:
        return Unlike()
    if any(not np.isin(wanted, axis.values).all() for wanted, axis in zip(goal.axes, axes, strict=True)):
        return None
    reads = goal.later(-BUFFER_LATENCY)
    soonest = _soonest_part(feed, axes, wanted) if wanted.parts else _soonest(feed, axes, reads)
    if soonest is None:
        return Unlike()
    if reads.times.base < 0 or soonest <= 0:
        return None
    order = storing_order(axes)
    read = _ranks(reads, axes, order)
    if read is None or feed.count > prod(len(axis.values) for axis in axes):
        return Unlike()  # words that are stored twice
    depth = _depth(feed, axes, order, reads)
    written = written_ranks(feed, axes, order)
    levels = fit_nest(feed.times, written), fit_nest(reads.times, read)
    if depth is None:
        return Unlike()
    if levels[0] is None or levels[1] is None:
        return None
    write = build_walk(levels[0], feed.times.base, depth, written.base)
    walk = build_walk(levels[1], reads.times.base, depth, read.base)
    if wanted.parts and may_meet(walk, write):
        return None
    return BufferCell(tap, word, depth, write, walk)


def axes_of(feed: PortNest) -> list[Axis] | None:
    """The digits of the words in a feed, None if one of them is moved by two loops."""
    if feed.owners is None or any(len(loops) > 1 for loops in feed.owners):
        return None
    found = []
    zero = np.zeros(1, np.int64)
    for digit, loops in zip(feed.digits, feed.owners, strict=True):
        if not loops:
            found.append(Axis(zero + digit.base, zero, zero, None, zero))
            continue
        values, times = digit.tables[loops[0]] + digit.base, feed.times.tables[loops[0]]
        names, first, inverse = np.unique(values, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty(len(names), np.int64)
        rank[order] = np.arange(len(names))
        last = np.zeros(len(names), np.int64)
        np.maximum.at(last, rank[inverse], times)
        found.append(Axis(names[order], times[first[order]], last, loops[0], rank[inverse]))
    return found


def storing_order(axes: Sequence[Axis]) -> list[int]:
    """Numbers of the digits as words come, the slowest first."""
    return sorted(range(len(axes)), key=lambda k: -1 if (loop := axes[k].loop) is None else loop)


def _soonest(feed: PortNest, axes: list[Axis], reads: PortNest) -> int:
    """Least cycles from the first time that a word comes to a read of it."""
    assert reads.axes is not None
    total = reads.rest(latest=False) - feed.times.base
    for k, (axis, wanted) in enumerate(zip(axes, reads.axes, strict=True)):
        total += int((reads.extreme(k, latest=False) - axis.first[_find(axis.values, wanted)]).min())
    return total


def _soonest_part(feed: PortNest, axes: list[Axis], wanted: Trace) -> int | None:
    """As `_soonest` for the events that are wanted; None if that is not known."""
    found = []
    for part in wanted.parts:
        waits = part.port.times.plus(-BUFFER_LATENCY - feed.times.base)
        for digit, axis in zip(part.port.digits, axes, strict=True):
            first = _first_times(digit, axis)
            if first is None:
                return None
            waits = waits.minus(first)
        found.append(least_in(waits, part.region))
    return min((least for least in found if least is not None), default=1)


def _first_times(digit: LoopSum, axis: Axis) -> LoopSum | None:
    """The part of the cycle in which a word first comes that its digit decides; None if it is no sum."""
    place = _places(digit, digit.moving, axis.values)
    if place is None or place.least < 0 or place.most >= len(axis.values):
        return None
    if not place.moving:
        return constant_sum(int(axis.first[place.base]), place.trips)
    if len(place.moving) == 1:
        loop = place.moving[0]
        return table_sum(loop, axis.first[place.base + place.tables[loop]], place.trips)
    steps = np.unique(np.diff(axis.first))
    return place.times(int(steps[0])).plus(int(axis.first[0])) if len(steps) == 1 else None


def _find(values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Places of the wanted ones among values, all of which are there."""
    order = np.argsort(values)
    return order[np.searchsorted(values[order], wanted)]


def _ranks(reads: PortNest, axes: list[Axis], order: list[int]) -> LoopSum | None:
    """Numbers of the words that are read, in the order in which they are stored; None if these are no sum."""
    assert reads.owners is not None
    total = constant_sum(0, reads.times.trips)
    for k in order:
        place = _places(reads.digits[k], reads.owners[k], axes[k].values)
        if place is None:
            return None
        total = total.times(len(axes[k].values)).plus(place)
    return total


def _places(digit: LoopSum, loops: tuple[int, ...], values: np.ndarray) -> LoopSum | None:
    """Places of a digit's values among those that are stored."""
    if len(loops) <= 1:
        tables = [_find(values, digit.base + table) if k in loops else np.zeros(len(table), np.int64)
                  for k, table in enumerate(digit.tables)]
        start = 0 if loops else int(_find(values, np.array([digit.base]))[0])
        return loop_sum(start, tables)
    steps = np.diff(values)
    if not len(steps) or not (steps == steps[0]).all():
        return None
    step = int(steps[0])
    return LoopSum((digit.base - int(values[0])) // step, tuple(table // step for table in digit.tables))


def written_ranks(feed: PortNest, axes: Sequence[Axis], order: Sequence[int]) -> LoopSum:
    """Numbers of the words that come, in the order in which they are stored."""
    total = constant_sum(0, feed.times.trips)
    for k in order:
        tables = [axes[k].places if loop == axes[k].loop else np.zeros(n, np.int64)
                  for loop, n in enumerate(feed.times.trips)]
        total = total.times(len(axes[k].values)).plus(loop_sum(0, tables))
    return total


def _depth(feed: PortNest, axes: list[Axis], order: list[int], reads: PortNest) -> int | None:
    """Fewest words of a circular memory that keep every word until its last use; None if there are too many to compare.
    Words are stored once."""
    assert reads.axes is not None
    births, uses = [], []
    for k in order:
        last = np.full(len(axes[k].values), _UNUSED)
        last[_find(axes[k].values, reads.axes[k])] = reads.extreme(k, latest=True)
        births.append(axes[k].first)
        uses.append(last)
    waiting = most_waiting(births, uses, reads.rest(latest=True) - feed.times.base)
    return None if waiting is None else max(2, waiting)


def product_words(ports: Sequence[PortNest]) -> Iterator[tuple[np.ndarray, ...]]:
    """Boxes of words around all that ports carry: these alone, if they are all combinations of some iterations of each
    loop, and those that lie whole steps apart, from the first to the last."""
    axes = [port.axes for port in ports if port.axes is not None]
    if len(axes) < len(ports):
        return
    shape = ports[0].shape
    around = tuple(np.unique(np.concatenate([axis[k] for axis in axes])) for k in range(len(shape)))
    if _filled(axes, around):
        yield around
    yield tuple(np.arange(int(axis[0]), int(axis[-1]) + 1, int(np.gcd.reduce(axis - axis[0])) or size)
                for axis, size in zip(around, shape, strict=True))


def _filled(boxes: Sequence[tuple[np.ndarray, ...]], around: tuple[np.ndarray, ...]) -> bool:
    """Whether boxes together have all combinations."""
    members = [[np.isin(axis, box[k]) for box in boxes] for k, axis in enumerate(around)]
    cells = [np.unique(np.array(axis), axis=1) for axis in members]
    found = np.zeros([axis.shape[1] for axis in cells], bool)
    for number in range(len(boxes)):
        found[np.ix_(*[axis[number] for axis in cells])] = True
    return bool(found.all())
