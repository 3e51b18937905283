"""Counters that walk the times of a network, and the number of the tick that each time gets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import islpy as isl
import numpy as np

from compiler.analysis.counting import UncountedError, values_of
from compiler.analysis.instance_budget import count_instances, require_few
from compiler.analysis.walks import Walk, walk_along
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.dataflow.quasi_affine import few_pieces, piecewise
from hw.dataflow.counters import counter_columns
from hw.dataflow.spec import Counter, Piece

__all__ = ["Idle", "Runs", "TickClock", "idling_clock", "tick_clock"]

_MOST_PIECES = 6
"""Cases in the bound of a counter; with more of them it gets constant bounds."""

_MOST_AMOUNTS = 32
"""Cases in the number of idle ticks, which are constants in most."""

_FEW_TICKS = 1 << 18
"""Ticks that are looked at one by one."""


@dataclass(frozen=True)
class TickClock:
    """`counters` walk exactly the vectors of `box`, in lexicographic order: a superset of the firing times."""

    counters: tuple[Counter, ...]
    box: isl.Set
    ticks: int

    def __hash__(self) -> int:
        return hash((self.counters, self.ticks))

    def most_ticks(self, sizes: int) -> int:
        """The most vectors that have the same values of the first `sizes` counters."""
        return max(self.ticks_by_size(sizes).values())

    def ticks_by_size(self, sizes: int) -> dict[tuple[int, ...], int]:
        """Vectors for all values of the first `sizes` counters."""
        if not sizes:
            return {(): self.ticks}
        points, counts = np.unique(self._columns[:sizes], axis=1, return_counts=True)
        return {tuple(point): count for point, count in zip(points.T.tolist(), counts.tolist(), strict=True)}

    def first_tick(self, sizes: Sequence[int]) -> int:
        """The first tick in which the outermost counters have these values."""
        if not sizes:
            return 0
        found = np.ones(self.ticks, bool)
        for column, size in zip(self._columns, sizes, strict=False):
            found &= column == size
        return int(found.argmax())

    def rank(self, times: np.ndarray) -> np.ndarray:
        """Ticks of time vectors, int64 of shape [vectors], given as [dimensions, vectors]. Raises `DataflowError` if
        ticks are no polynomials of vectors and too many to look at."""
        keys = self._keys(times)
        if self.ticks == self._volume:
            return keys
        if self.ticks > _FEW_TICKS:
            try:
                return values_of(self.walk.below, list(times), times.shape[1])
            except UncountedError as reason:
                require_few(self.box, "the ticks of a kernel", reason, DataflowError)
        return np.searchsorted(self._present, keys)

    @cached_property
    def walk(self) -> Walk:
        """The vectors, in order."""
        return walk_along(self.box)

    def idle_ticks(self, idle: Idle) -> int:
        """How many ticks `idle`, which is everywhere, adds in all."""
        if self.ticks <= _FEW_TICKS:
            return self.added((idle,))
        runs = self.box.project_out(isl.dim_type.set, idle.level, self.box.dim(isl.dim_type.set) - idle.level)
        if not idle.least:
            return idle.ticks * count_instances(runs.coalesce())
        low, high = _ends(self.box, idle.level)
        short = low.flat_range_product(high).wrap().flatten()
        rest = isl.Map(f"{{ [l, h] -> [t] : 0 <= t < {idle.ticks - 1} - h + l }}")
        added = isl.Map.from_range(short).move_dims(isl.dim_type.in_, 0, isl.dim_type.out, 0, idle.level)
        return count_instances(added.apply_range(rest).wrap().flatten().coalesce())

    def added(self, idle: Sequence[Idle], sizes: int = 0) -> int:
        """How many ticks all of `idle` add, but for those after everything, which are left out. The first `sizes`
        counters have one value in a run of the kernel. Every tick is looked at, if there are idle ones."""
        return sum(int(added.sum()) for _, added in self._behind_runs(idle, sizes))

    def put_off(self, idle: Sequence[Idle]) -> np.ndarray:
        """Ticks that each tick comes later with all of `idle`: int64 of shape [ticks]."""
        later = np.zeros(self.ticks, np.int64)
        for runs, added in self._behind_runs(idle, 0):
            later += (np.cumsum(added) - added)[runs.numbers]
        return later

    def _behind_runs(self, idle: Sequence[Idle], sizes: int) -> Iterator[tuple[Runs, np.ndarray]]:
        """Runs of each level of `idle`, and the ticks that are added behind each."""
        for level in {each.level for each in idle}:
            runs = self.runs(level)
            added = runs.idle_ticks([each for each in idle if each.level == level])
            added[np.isin(runs.last, self.runs(sizes).last)] = 0
            yield runs, added

    def runs(self, level: int) -> Runs:
        """The runs of the counters from number `level` inwards, or single ticks inside the innermost one."""
        if level not in self._known_runs:
            self._known_runs[level] = self._new_runs(level)
        return self._known_runs[level]

    @cached_property
    def _known_runs(self) -> dict[int, Runs]:
        return {}

    def _new_runs(self, level: int) -> Runs:
        starts = np.ones(self.ticks, bool)
        starts[1:] = (self._columns[:level, 1:] != self._columns[:level, :-1]).any(axis=0)
        first = np.flatnonzero(starts)
        last = np.append(first[1:], self.ticks) - 1
        lengths = np.zeros_like(first)
        if level < len(self.counters):
            lengths = self._columns[level, last] - self._columns[level, first] + 1
        return Runs(self._columns[:level, first], lengths, last, np.cumsum(starts) - 1)

    @cached_property
    def _columns(self) -> np.ndarray:
        """All vectors, in order: shape [counters, ticks]."""
        return np.stack(counter_columns(self.counters))

    @cached_property
    def _present(self) -> np.ndarray:
        """Keys of all vectors, in order."""
        return self._keys(self._columns)

    @property
    def _volume(self) -> int:
        return int(np.prod([c.maximum - c.minimum + 1 for c in self.counters], dtype=object))

    def _keys(self, times: np.ndarray) -> np.ndarray:
        """Position in the surrounding box of constant bounds."""
        keys = np.zeros(times.shape[1], np.int64)
        for column, counter in zip(times, self.counters, strict=True):
            keys = keys * (counter.maximum - counter.minimum + 1) + (column - counter.minimum)
        return keys


@dataclass(frozen=True)
class Idle:
    """Ticks in which nothing fires, after each run of the counters from number `level` inwards: `ticks` of them, or, if
    `least`, as many as the counter of that level has values less than `ticks`. `where`: only while the counters outside
    are in these ranges, first and last value of each; everywhere if there are none."""

    level: int
    ticks: int
    least: bool
    where: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        amount = f"up to {self.ticks}" if self.least else str(self.ticks)
        ranges = [f"{number} in {low}..{high}" for number, (low, high) in enumerate(self.where)]
        return f"{amount} after each run of time dimension {self.level}{' while ' * bool(ranges)}{', '.join(ranges)}"

    def inside(self, outer: np.ndarray) -> np.ndarray:
        """Whether each of `outer`, vectors of the counters outside, shape [counters, runs], is in the ranges."""
        found = np.ones(outer.shape[1], bool)
        for (low, high), column in zip(self.where, outer, strict=False):
            found &= (low <= column) & (column <= high)
        return found

    def inside_of(self, given: isl.Map) -> isl.Map:
        """`given` {counters outside -> anything}, while these are in the ranges."""
        for number, (low, high) in enumerate(self.where):
            given = given.lower_bound_val(isl.dim_type.in_, number, isl.Val(low))
            given = given.upper_bound_val(isl.dim_type.in_, number, isl.Val(high))
        return given


@dataclass(frozen=True)
class Runs:
    """Runs of inner counters: values of the counters `outer` of each (shape [counters, runs]), how many values their
    first counter has (`lengths`), their `last` ticks, and the number of the run of each tick."""

    outer: np.ndarray
    lengths: np.ndarray
    last: np.ndarray
    numbers: np.ndarray

    def idle_ticks(self, idle: Iterable[Idle]) -> np.ndarray:
        """How many ticks are added behind each run: the most of those that make it longer, and all others."""
        longer, more = np.zeros_like(self.lengths), np.zeros_like(self.lengths)
        for each in idle:
            inside = each.inside(self.outer)
            if each.least:
                longer = np.maximum(longer, np.where(inside, each.ticks - self.lengths, 0))
            else:
                more += np.where(inside, each.ticks, 0)
        return longer + more


def tick_clock(times: Iterable[isl.Map], slow: int = 1, idle: Idle | None = None) -> TickClock:
    """Counters for all firing times. Every counter starts at the first and ends at the last value that times have at
    the values of the counters outside it, so only gaps between times cost ticks in which nothing fires.

    `slow`: values of the innermost counter, which is 0 in all firing times, if there are more than one. `idle`, which
    is everywhere: ticks that are added.
    """
    total = _fired(times)
    if slow > 1:
        total = total.union(_raised(total, slow - 1)).coalesce()
    if idle is not None:
        total = total.union(_idle_times(total, idle)).coalesce()
    return _walking(total)


def idling_clock(times: Sequence[isl.Map], idle: Sequence[Idle], sizes: int = 0) -> TickClock:
    """The same with `idle` ticks behind the runs of the counters but for the innermost one, which is 0 in all firing
    times and counts them. There are none after everything, with any values of the first `sizes` counters."""
    fired = _fired(times)
    last = fired.n_dim() - 1
    outer = _walking(fired.project_out(isl.dim_type.set, last, 1))
    box = outer.box
    amounts = isl.Map.from_domain_and_range(box, isl.Set("{ [0] }"))
    for level in dict.fromkeys(each.level for each in idle):
        ended = _run_ends(box, level)
        more = _amounts(box, level, [each for each in idle if each.level == level])
        added = amounts.intersect_domain(ended).flat_range_product(_on_vectors(more, box, level))
        added = added.apply_range(isl.Map("{ [a, b] -> [a + b] }"))
        amounts = amounts.subtract_domain(ended).union(added).coalesce()
    done = _run_ends(box, sizes)
    amounts = amounts.subtract_domain(done).union(isl.Map.from_domain_and_range(done, isl.Set("{ [0] }"))).coalesce()
    ticks = amounts.apply_range(isl.Map("{ [a] -> [t] : 0 <= t <= a }")).wrap().flatten()
    counter, box = _counter(ticks, box, _MOST_AMOUNTS)
    return TickClock((*outer.counters, counter), box, count_instances(box))


def _fired(times: Iterable[isl.Map]) -> isl.Set:
    return reduce(isl.Set.union, (time.range() for time in times)).coalesce()


def _walking(total: isl.Set) -> TickClock:
    """Counters for the vectors of `total`."""
    count = total.dim(isl.dim_type.set)
    box = isl.Set("{ [] }")
    counters = []
    for dim in range(count):
        here = total.project_out(isl.dim_type.set, dim + 1, count - dim - 1).coalesce()
        counter, box = _counter(here, box)
        counters.append(counter)
    return TickClock(tuple(counters), box, count_instances(box))


def _run_ends(box: isl.Set, level: int) -> isl.Set:
    """Of the vectors of `box`, the last ones of the runs of the counters from number `level` inwards."""
    inner = isl.Map.from_range(box).move_dims(isl.dim_type.in_, 0, isl.dim_type.out, 0, level)
    return inner.lexmax().wrap().flatten()


def _on_vectors(amounts: isl.Map, box: isl.Set, level: int) -> isl.Map:
    """`amounts` of outer counters, on the vectors of `box`."""
    more = box.n_dim() - level
    return amounts.add_dims(isl.dim_type.in_, more).intersect_domain(box)


def _amounts(box: isl.Set, level: int, idle: Sequence[Idle]) -> isl.Map:
    """{outer counters -> ticks that are added}, as `Runs.idle_ticks` says."""
    amounts = isl.Map.from_domain_and_range(
        box.project_out(isl.dim_type.set, level, box.n_dim() - level).coalesce(), isl.Set("{ [0] }"))
    for each in (each for each in idle if each.least):
        low, high = _ends(box, level)
        ends = each.inside_of(low.flat_range_product(high))
        short = ends.apply_range(isl.Map(f"{{ [l, h] -> [{each.ticks - 1} - h + l] }}"))
        amounts = amounts.union(short).lexmax()
    for each in (each for each in idle if not each.least):
        inside = each.inside_of(amounts)
        more = inside.apply_range(isl.Map(f"{{ [a] -> [a + {each.ticks}] }}"))
        amounts = amounts.subtract(inside).union(more).coalesce()
    return amounts


def _raised(times: isl.Set, value: int) -> isl.Set:
    """`times` with another value of the innermost dimension."""
    last = times.dim(isl.dim_type.set) - 1
    moved = times.project_out(isl.dim_type.set, last, 1).insert_dims(isl.dim_type.set, last, 1)
    return moved.fix_val(isl.dim_type.set, last, isl.Val(value))


def _idle_times(total: isl.Set, idle: Idle) -> isl.Set:
    """The added times: after the last value of the level's counter, its inner counters at their least values."""
    count = total.dim(isl.dim_type.set)
    low, high = _ends(total, idle.level)
    ends = low.flat_range_product(high)
    if idle.level == count - 1:
        added = f"h < t <= {f'l + {idle.ticks - 1}' if idle.least else f'h + {idle.ticks}'}"
        return ends.apply_range(isl.Map(f"{{ [l, h] -> [t] : {added} }}")).wrap().flatten()
    lows = [total.dim_min_val(dim).to_python() for dim in range(idle.level + 1, count)]
    start = "h - l + 1" if idle.least else "0"
    place = ", ".join(["h + 1", *map(str, lows[:-1]), "t"])
    added = f"{lows[-1]} + {start} <= t < {lows[-1]} + {idle.ticks}"
    return ends.apply_range(isl.Map(f"{{ [l, h] -> [{place}] : {added} }}")).wrap().flatten()


def _ends(total: isl.Set, level: int) -> tuple[isl.Map, isl.Map]:
    """{outer counters -> first value of the one of `level`}, and the last one."""
    here = total.project_out(isl.dim_type.set, level + 1, total.dim(isl.dim_type.set) - level - 1).coalesce()
    values = isl.Map.from_range(here).move_dims(isl.dim_type.in_, 0, isl.dim_type.out, 0, level)
    return values.lexmin(), values.lexmax()


def _counter(here: isl.Set, box: isl.Set, most: int = _MOST_PIECES) -> tuple[Counter, isl.Set]:
    """The counter of the last dimension of `here`, and `box` (the outer counters) with that dimension.

    `here`: the times without their inner dimensions. `most`: pieces of its bounds.
    """
    dim = here.dim(isl.dim_type.set) - 1
    minimum, maximum = here.dim_min_val(dim).to_python(), here.dim_max_val(dim).to_python()
    values = isl.Map.from_range(here).move_dims(isl.dim_type.in_, 0, isl.dim_type.out, 0, dim)
    idle = _constant(box.subtract(values.domain()), minimum)
    bounds = [side.union(idle).coalesce() for side in (values.lexmin(), values.lexmax())]
    pieces = _bound_pieces(bounds, box, most)
    if not pieces:
        bounds = [_constant(box, minimum), _constant(box, maximum)]
        pieces = [piecewise(bound, box) for bound in bounds]
    low, high = bounds
    reached = low.apply_range(isl.Map("{ [l] -> [t] : t >= l }"))
    reached = reached.intersect(high.apply_range(isl.Map("{ [h] -> [t] : t <= h }")))
    return Counter(pieces[0], pieces[1], minimum, maximum), reached.wrap().flatten().coalesce()


def _bound_pieces(bounds: list[isl.Map], box: isl.Set, most: int) -> list[tuple[Piece, ...]]:
    """The bounds' pieces, none if one has too many."""
    found = []
    for bound in bounds:
        pieces = few_pieces(bound, box, most)
        if pieces is None:
            return []
        found.append(pieces)
    return found


def _constant(domain: isl.Set, value: int) -> isl.Map:
    """{point of `domain` -> [value]}."""
    return isl.Map.from_domain_and_range(domain, isl.Set(f"{{ [{value}] }}"))
