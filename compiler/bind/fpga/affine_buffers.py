"""Buffers of a box of words whose reads take them in any affine order, in a part of a nest: triangles, transposed or
backwards.

What is stored is the box around all words that are wanted, each word once, in the order in which they come. A read goes
on in the iterations in which nothing is wanted, so that its address advances evenly in every loop; what it finds there
does not matter. All this is read off the tables of loops, whatever their trip counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from compiler.analysis.loop_regions import least_in, most_in
from compiler.analysis.port_nests import LoopSum, PortNest, constant_sum, table_sum
from compiler.analysis.word_lifetimes import born_at_most
from compiler.bind.fpga.address_generator_fit import build_walk
from compiler.bind.fpga.nest_buffers import Axis, axes_of, stored_boxes, storing_order, written_ranks
from compiler.bind.fpga.nest_fit import fit_nest
from compiler.bind.fpga.traces import Part, Trace
from compiler.bind.fpga.walk_meetings import may_meet
from hw.pipeline.spec import BUFFER_LATENCY, BufferCell, Tap, Word

__all__ = ["affine_buffers"]

_MORE_WORDS = 4
"""Words more than are alive that keep reads of nothing wanted from the addresses of writes, tried one by one."""


@dataclass(frozen=True, eq=False)
class _Reads:
    """Cycles of the reads in the box of `part`, and the numbers of their words (`ranks`) among those that are stored,
    which begin to come `after` cycle 0; both are wanted in the region of the part alone."""

    part: Part
    times: LoopSum
    ranks: LoopSum


def affine_buffers(tap: Tap, feed: PortNest, goal: Trace, word: Word) -> Iterator[BufferCell]:
    """Buffers that store what `feed` brings and read what `goal`, a nest or the wanted part of one, carries."""
    assert goal.nest is not None
    parts = goal.parts or (Part(goal.nest, None),)
    boxes = [_wanted_values(parts, place) for place in range(len(goal.nest.digits))]
    if feed.owners is None or any(len(loops) > 1 for loops in feed.owners):
        return
    values = [box for box in boxes if box is not None]
    if len(values) == len(boxes):
        for stored in stored_boxes(feed, values):
            axes = axes_of(stored)
            if axes is not None and _holds(stored, axes, values):
                buffer = _buffer(tap, stored, axes, goal.nest, parts, word)
                if buffer is not None:
                    yield buffer


def _wanted_values(parts: Sequence[Part], place: int) -> np.ndarray | None:
    """Values of digit number `place` from the least to the greatest that is wanted, whole steps apart that all parts
    keep; None if nothing is wanted."""
    ends: list[int] = []
    steps: list[int] = []
    for port, region in parts:
        digit = port.digits[place]
        least, most = least_in(digit, region), most_in(digit, region)
        if least is not None and most is not None:
            ends += [least, most]
            steps += [int(step) for table in digit.tables for step in (np.gcd.reduce(table),) if step]
    if not ends:
        return None
    step = int(np.gcd.reduce([*steps, *(end - min(ends) for end in ends)])) or 1
    return np.arange(min(ends), max(ends) + 1, step)


def _holds(feed: PortNest, axes: Sequence[Axis], values: Sequence[np.ndarray]) -> bool:
    """Whether a feed brings all words of a box, each once."""
    return feed.count == prod(map(len, values)) and all(
        np.array_equal(np.sort(axis.values), box) for axis, box in zip(axes, values, strict=True))


def _buffer(tap: Tap, feed: PortNest, axes: Sequence[Axis], goal: PortNest, parts: Sequence[Part],
            word: Word) -> BufferCell | None:
    if goal.times.base < BUFFER_LATENCY:
        return None
    order = storing_order(axes)
    found = [_reads(part, axes, order) for part in parts]
    everywhere = _reads(Part(goal, None), axes, order)
    reads = [each for each in found if each is not None]
    if everywhere is None or len(reads) < len(found) or not all(_in_time(each, feed, axes) for each in reads):
        return None
    written = written_ranks(feed, axes, order)
    levels = fit_nest(feed.times, written), fit_nest(everywhere.times, everywhere.ranks)
    if levels[0] is None or levels[1] is None:
        return None
    births = [axes[k].first for k in order]
    for depth in _depths(births, feed.times.base, reads, everywhere):
        write = build_walk(levels[0], feed.times.base, depth, written.base)
        walk = build_walk(levels[1], everywhere.times.base, depth, everywhere.ranks.base)
        if not may_meet(walk, write):
            return BufferCell(tap, word, depth, write, walk)
    return None


def _reads(part: Part, axes: Sequence[Axis], order: Sequence[int]) -> _Reads | None:
    """The reads of a part; None if their words are not stored in even steps."""
    times, ranks = part.port.times.plus(-BUFFER_LATENCY), constant_sum(0, part.port.times.trips)
    for k in order:
        place = _places(part.port.digits[k], axes[k].values)
        if place is None:
            return None
        ranks = ranks.times(len(axes[k].values)).plus(place)
    return _Reads(part, times, ranks)


def _places(digit: LoopSum, values: np.ndarray) -> LoopSum | None:
    """Places of a digit's values among those stored, and beyond them."""
    steps = np.unique(np.diff(values))
    if len(steps) > 1:
        return None
    step = int(steps[0]) if len(steps) else 1
    if (digit.base - int(values[0])) % step or any((table % step).any() for table in digit.tables):
        return None
    return LoopSum((digit.base - int(values[0])) // step, tuple(table // step for table in digit.tables))


def _in_time(reads: _Reads, feed: PortNest, axes: Sequence[Axis]) -> bool:
    """Whether every word that is wanted comes before it is read."""
    waits = reads.times.plus(-feed.times.base)
    for digit, axis in zip(reads.part.port.digits, axes, strict=True):
        first = _first_times(digit, axis)
        if first is None:
            return False
        waits = waits.minus(first)
    least = least_in(waits, reads.part.region)
    return least is None or least > 0


def _first_times(digit: LoopSum, axis: Axis) -> LoopSum | None:
    """The part of the cycle in which a word first comes that its digit decides; None if it is no sum."""
    place = _places(digit, axis.values)
    assert place is not None
    steps = np.unique(np.diff(axis.first))
    if len(steps) <= 1:
        return place.times(int(steps[0]) if len(steps) else 0)
    if len(place.moving) > 1:
        return None
    loop = place.moving[0] if place.moving else 0
    table = place.tables[loop] if place.tables else np.zeros(1, np.int64)
    cycles = axis.first[(place.base + table).clip(0, len(axis.first) - 1)]  # others are wanted nowhere
    return table_sum(loop, cycles, place.trips) if place.tables else constant_sum(int(cycles[0]), ())


def _depths(births: Sequence[np.ndarray], start: int, reads: Sequence[_Reads], everywhere: _Reads) -> Iterator[int]:
    """Numbers of words that keep each until its last use, the fewest first; then as many as no read, of something
    wanted or not, has the address of a write with."""
    stored = prod(map(len, births))
    least = 2
    for each in reads:
        waiting = born_at_most(births, each.times.plus(-start)).minus(each.ranks)
        most, first = most_in(waiting, each.part.region), least_in(each.ranks, each.part.region)
        if most is not None and first is not None:
            least = max(least, min(most, stored - first))
    yield from range(least, least + _MORE_WORDS)
    apart = born_at_most(births, everywhere.times.plus(-start)).minus(everywhere.ranks)
    yield max(least + _MORE_WORDS, apart.most - min(0, apart.least) + 1)
