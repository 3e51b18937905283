"""Reads that see values of several statements: which instances take which, as decisions between two at a time.

Mostly the instances of a reader that see values of one statement are a few boxes, as the first step of a reduction, or
what lies at a border. Then every decision asks whether an iterator has reached a bound. Otherwise, as with values that
take turns, the sources are numbered, and every decision asks whether the number has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

import numpy as np

from compiler.analysis.dependences import Dependence
from compiler.bind.fpga.address_generator_fit import fit_levels
from compiler.bind.fpga.instance_trace import Events, Reads

__all__ = ["Decision", "Leaf", "Selection", "decide"]

_MOST_BOXES = 16
"""Most boxes that decisions by iterators may lead to."""

_ANY = -1
"""In place of the source of what a closed guard leaves open."""

_MOST_ORDERED = 4
"""Most sources whose numbering is searched for."""


class Leaf(NamedTuple):
    """Reads of values of one statement."""

    dependence: Dependence
    reads: Reads


class Selection(NamedTuple):
    """Instances of the reader with a value below `cut`, of 0 to `size` - 1, against the others."""

    values: np.ndarray
    size: int
    cut: int


@dataclass(frozen=True)
class Decision:
    """What instances below the cut of `selection` take, and what the others do."""

    selection: Selection
    below: Decision | Leaf
    above: Decision | Leaf


def decide(events: Events, sources: Sequence[Dependence]) -> Decision | None:
    """How a read finds its values, of which all `sources`, two or more, have some; None if no counters with short
    tables say so."""
    sink = sources[0].sink
    taken = np.full(len(events.times(sink)), _ANY)
    for number, dependence in enumerate(sources):
        taken[events.reads(dependence).instances] = number
    trips = events.trips(sink)
    tree = _Boxes(events, sources, taken, trips).tree(tuple(slice(0, count) for count in trips))
    return tree if isinstance(tree, Decision) else _numbered(events, sources, taken)


@dataclass
class _Boxes:
    """Decisions by iterators. `left`: how many more boxes there may be."""

    events: Events
    sources: Sequence[Dependence]
    taken: np.ndarray
    trips: tuple[int, ...]
    left: int = _MOST_BOXES

    def tree(self, box: tuple[slice, ...]) -> Decision | Leaf | None:
        """The decisions inside a box of instances."""
        taken = _continued(self.taken.reshape(self.trips)[box])
        if (taken == taken.flat[0]).all():
            self.left -= 1
            return None if self.left < 0 else self._leaf(int(taken.flat[0]), box)
        axis, cut = _best_cut(taken)
        cut += box[axis].start
        low = (*box[:axis], slice(box[axis].start, cut), *box[axis + 1 :])
        high = (*box[:axis], slice(cut, box[axis].stop), *box[axis + 1 :])
        below = self.tree(low)
        above = self.tree(high) if below is not None else None
        if below is None or above is None:
            return None
        values = self.events.iterations(self.sources[0].sink, axis)
        return Decision(Selection(values, self.trips[axis], cut), below, above)

    def _leaf(self, number: int, box: tuple[slice, ...]) -> Leaf:
        inside = np.zeros(self.trips, bool)
        inside[box] = True
        reads = self.events.reads(self.sources[number])
        kept = inside.ravel()[reads.instances]
        return Leaf(self.sources[number], Reads(reads.instances[kept], reads.words[kept]))


def _continued(taken: np.ndarray) -> np.ndarray:
    """Sources of a box of instances, those that may have any taking that of one beside them."""
    for axis in reversed(range(taken.ndim)):
        for way in (slice(None), slice(None, None, -1)):
            lines = np.moveaxis(taken, axis, -1)[..., way]
            place = np.maximum.accumulate(np.where(lines == _ANY, 0, np.arange(lines.shape[-1])), axis=-1)
            taken = np.moveaxis(np.take_along_axis(lines, place, axis=-1)[..., way], -1, axis)
    return taken


def _best_cut(taken: np.ndarray) -> tuple[int, int]:
    """Axis and place of the cut that most instances on both sides have in common: where the fewest other changes are
    along its axis, and the most instances change."""
    best: tuple[int, int] | None = None
    found = (0, 0)
    for axis in range(taken.ndim):
        changed = np.diff(taken, axis=axis) != 0
        changes = changed.sum(axis=tuple(k for k in range(taken.ndim) if k != axis))
        for place in np.flatnonzero(changes)[: 2 * _MOST_BOXES]:
            key = (int(np.count_nonzero(changes)), -int(changes[place]))
            if best is None or key < best:
                best, found = key, (axis, int(place) + 1)
    return found


def _numbered(events: Events, sources: Sequence[Dependence], taken: np.ndarray) -> Decision | None:
    """Decisions by the number of the source, the sources in an order in which counters can name them."""
    times, taken = events.times(sources[0].sink), _continued(taken)
    count = len(sources)
    for order in permutations(range(count)) if count <= _MOST_ORDERED else [tuple(range(count))]:
        numbers = np.argsort(order)[taken]
        if fit_levels(times, numbers) is not None:
            leaves = [Leaf(sources[k], events.reads(sources[k])) for k in order]
            last = Decision(Selection(numbers, count, count - 1), leaves[-2], leaves[-1])
            for cut in range(count - 2, 0, -1):
                last = Decision(Selection(numbers, count, cut), leaves[cut - 1], last)
            return last
    return None
