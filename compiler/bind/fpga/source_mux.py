"""Reads that see values of several statements: which instances take which, as decisions between two at a time.

Mostly the instances of a reader that see values of one statement are a few boxes, as the first step of a reduction, or
what lies at a border. Then every decision asks whether an iterator has reached a bound. Otherwise, as with values that
take turns, the sources are numbered, and every decision asks whether the number has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import prod
from typing import NamedTuple

import islpy as isl
import numpy as np

from compiler.analysis.dependences import Dependence
from compiler.analysis.port_nests import LoopSum, loop_sum
from compiler.bind.fpga.address_generator_fit import fit_levels
from compiler.bind.fpga.half_spaces import ANY, Cut, Cuts, cut_domains, cut_sources
from compiler.bind.fpga.instance_trace import Events, Reads
from compiler.bind.fpga.nest_fit import fit_nest

__all__ = ["Decision", "Leaf", "Selection", "decide", "pieces"]

_MOST_BOXES = 16
"""Most boxes that decisions by iterators may lead to."""

_MOST_CELLS = 1 << 18
"""Instances of a reader up to which those that are no nests are looked at one by one."""

_MOST_ORDERED = 4
"""Most sources whose numbering is searched for."""


class Leaf(NamedTuple):
    """Reads of values of one statement."""

    dependence: Dependence
    reads: Reads


class Selection(NamedTuple):
    """Instances of the reader with a value below `cut`, of 0 to `size` - 1, against the others. `diagonal`: values may
    be of more than one iterator, as boxes do not tell the sources apart."""

    values: LoopSum | np.ndarray
    size: int
    cut: int
    diagonal: bool = False


@dataclass(frozen=True)
class Decision:
    """What instances below the cut of `selection` take, and what the others do."""

    selection: Selection
    below: Decision | Leaf
    above: Decision | Leaf


def pieces(dependence: Dependence) -> list[Dependence]:
    """The dependence in disjoint parts, in each of which the word that a read sees is affine in its iterators."""
    parts = dependence.relation.coalesce().make_disjoint().get_basic_maps()
    return [replace(dependence, relation=isl.Map.from_basic_map(part)) for part in parts]


def decide(events: Events, sources: Sequence[Dependence]) -> Decision | None:
    """How a read finds its values, of which all `sources`, two or more, have some; None if no counters with short
    tables say so."""
    sink = sources[0].sink
    if prod(events.trips(sink)) > _MOST_CELLS and any(events.reads(each).nests is None for each in sources):
        found = _split(events, sources)
        if found is not None:
            return found
    cells = _cells(events, sources)
    box = tuple(slice(0, size) for size in cells.taken.shape)
    tree = _Boxes(events, sources, cells, events.trips(sink)).tree(box)
    found = tree if isinstance(tree, Decision) else _numbered(events, sources, cells)
    return _halved(events, sources) if found is None else found


@dataclass(frozen=True, eq=False)
class _Cells:
    """Instances of a reader in cells, whose number along every loop begins at ``starts[k]`` and which see one source
    each: ``taken[cell]`` is its number. Reads that are no nests have cells of one instance."""

    taken: np.ndarray
    starts: tuple[np.ndarray, ...]

    def sizes(self, axis: int, part: slice = slice(None)) -> np.ndarray:
        """Iterations of the cells along a loop."""
        return np.diff(self.starts[axis])[part]


def _cells(events: Events, sources: Sequence[Dependence]) -> _Cells:
    reads = [events.reads(dependence) for dependence in sources]
    nests = [(number, nest) for number, each in enumerate(reads) for nest in each.nests or ()]
    if any(each.nests is None for each in reads):
        return _listed_cells(events, sources)
    starts, kept = [], []
    for axis, count in enumerate(events.trips(sources[0].sink)):
        members = np.zeros((len(nests), count), bool)
        for row, (_, nest) in enumerate(nests):
            members[row, nest.kept[axis]] = True
        change = (np.diff(members, axis=1) != 0).any(axis=0)
        starts.append(np.concatenate([[0], np.flatnonzero(change) + 1, [count]]))
        kept.append(members[:, starts[-1][:-1]])
    taken = np.full([len(s) - 1 for s in starts], ANY)
    for row, (number, _) in enumerate(nests):
        taken[np.ix_(*[members[row] for members in kept])] = number
    return _Cells(taken, tuple(starts))


def _listed_cells(events: Events, sources: Sequence[Dependence]) -> _Cells:
    """A cell for each instance."""
    trips = events.trips(sources[0].sink)
    taken = np.full(len(events.times(sources[0].sink)), ANY)
    for number, dependence in enumerate(sources):
        taken[events.reads(dependence).instances] = number
    return _Cells(taken.reshape(trips), tuple(np.arange(count + 1) for count in trips))


@dataclass
class _Boxes:
    """Decisions by iterators. `left`: how many more boxes there may be."""

    events: Events
    sources: Sequence[Dependence]
    cells: _Cells
    trips: tuple[int, ...]
    left: int = _MOST_BOXES

    def tree(self, box: tuple[slice, ...]) -> Decision | Leaf | None:
        """The decisions inside a box of cells."""
        taken = _continued(self.cells.taken[box])
        if (taken == taken.flat[0]).all():
            self.left -= 1
            return None if self.left < 0 else self._leaf(int(taken.flat[0]), box)
        axis, cut = _best_cut(taken, [self.cells.sizes(k, part) for k, part in enumerate(box)])
        cut += box[axis].start
        low = (*box[:axis], slice(box[axis].start, cut), *box[axis + 1 :])
        high = (*box[:axis], slice(cut, box[axis].stop), *box[axis + 1 :])
        below = self.tree(low)
        above = self.tree(high) if below is not None else None
        if below is None or above is None:
            return None
        values = self.events.iterations(self.sources[0].sink, axis)
        return Decision(Selection(values, self.trips[axis], int(self.cells.starts[axis][cut])), below, above)

    def _leaf(self, number: int, box: tuple[slice, ...]) -> Leaf:
        part = [slice(int(starts[side.start]), int(starts[side.stop]))
                for starts, side in zip(self.cells.starts, box, strict=True)]
        return Leaf(self.sources[number], self.events.reads(self.sources[number]).inside(part))


def _continued(taken: np.ndarray) -> np.ndarray:
    """Sources of a box of instances, those that may have any taking that of one beside them."""
    for axis in reversed(range(taken.ndim)):
        for way in (slice(None), slice(None, None, -1)):
            lines = np.moveaxis(taken, axis, -1)[..., way]
            place = np.maximum.accumulate(np.where(lines == ANY, 0, np.arange(lines.shape[-1])), axis=-1)
            taken = np.moveaxis(np.take_along_axis(lines, place, axis=-1)[..., way], -1, axis)
    return taken


def _best_cut(taken: np.ndarray, sizes: Sequence[np.ndarray]) -> tuple[int, int]:
    """Axis and place, in cells of these `sizes`, of the cut that most instances on both sides have in common:
    where the fewest other changes are along its axis, and the most instances change."""
    best: tuple[int, int] | None = None
    found = (0, 0)
    for axis in range(taken.ndim):
        changed = np.diff(taken, axis=axis) != 0
        weights = np.ones((), np.int64)
        for k, size in enumerate(sizes):
            weights = np.multiply.outer(weights, np.ones(len(size) - 1, np.int64) if k == axis else size)
        changes = (changed * weights).sum(axis=tuple(k for k in range(taken.ndim) if k != axis))
        for place in np.flatnonzero(changes)[: 2 * _MOST_BOXES]:
            key = (int(np.count_nonzero(changes)), -int(changes[place]))
            if best is None or key < best:
                best, found = key, (axis, int(place) + 1)
    return found


def _numbered(events: Events, sources: Sequence[Dependence], cells: _Cells) -> Decision | None:
    """Decisions by the number of the source, the sources in an order in which counters can name them."""
    taken, count = _continued(cells.taken), len(sources)
    for order in permutations(range(count)) if count <= _MOST_ORDERED else [tuple(range(count))]:
        numbers = _spread(events, sources, cells, np.argsort(order)[taken])
        if numbers is not None:
            leaves = [Leaf(sources[k], events.reads(sources[k])) for k in order]
            last = Decision(Selection(numbers, count, count - 1), leaves[-2], leaves[-1])
            for cut in range(count - 2, 0, -1):
                last = Decision(Selection(numbers, count, cut), leaves[cut - 1], last)
            return last
    return None


def _halved(events: Events, sources: Sequence[Dependence]) -> Decision | None:
    """Decisions by iterators, their differences and sums."""
    cuts = cut_sources(_listed_cells(events, sources).taken)
    found = None if cuts is None else _of_cuts(events, sources, cuts)
    return found if isinstance(found, Decision) else None


def _split(events: Events, sources: Sequence[Dependence]) -> Decision | None:
    """The same without a list of all instances."""
    reads = [events.reads(dependence) for dependence in sources]
    cuts = cut_domains([each.relation.domain() for each in reads], reads[0].lows, reads[0].trips)
    found = None if cuts is None else _of_cuts(events, sources, cuts)
    return found if isinstance(found, Decision) else None


def _of_cuts(events: Events, sources: Sequence[Dependence], cuts: Cuts) -> Decision | Leaf:
    if isinstance(cuts, Cut):
        below, above = (_of_cuts(events, sources, part) for part in (cuts.below, cuts.above))
        return Decision(Selection(cuts.numbers, cuts.size, cuts.cut, diagonal=True), below, above)
    return Leaf(sources[cuts.source], events.reads(sources[cuts.source]).inside(cuts.box))


def _spread(events: Events, sources: Sequence[Dependence], cells: _Cells,
            numbers: np.ndarray) -> LoopSum | np.ndarray | None:
    """Numbers of cells as those of instances, None if no counters follow them."""
    corner = (0,) * numbers.ndim
    lines = [np.moveaxis(numbers, k, 0)[(slice(None), *corner[1:])] for k in range(numbers.ndim)]
    total = LoopSum(int(numbers[corner]), tuple(line - line[0] for line in lines))
    clock = events.clock(sources[0].sink)
    if np.array_equal(total.values(), numbers.ravel()):
        spread = loop_sum(total.base, [np.repeat(table, cells.sizes(k)) for k, table in enumerate(total.tables)])
        return spread if fit_nest(clock, spread) is not None else None
    if numbers.size != clock.count:
        return None
    return numbers.ravel() if fit_levels(clock.values(), numbers.ravel()) is not None else None
