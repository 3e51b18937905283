"""Counters that walk the times of a network, and the number of the tick that each time gets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import islpy as isl
import numpy as np

from compiler.bind.dataflow.quasi_affine import piecewise
from hw.dataflow.counters import counter_columns
from hw.dataflow.spec import Counter

__all__ = ["TickClock", "tick_clock"]

_MOST_PIECES = 6
"""Cases in the bound of a counter; with more of them it gets constant bounds."""


@dataclass(frozen=True)
class TickClock:
    """`counters` walk exactly the vectors of `box`, in lexicographic order: a superset of the firing times."""

    counters: tuple[Counter, ...]
    box: isl.Set
    ticks: int

    def __hash__(self) -> int:
        return hash((self.counters, self.ticks))

    def rank(self, times: np.ndarray) -> np.ndarray:
        """Ticks of time vectors, int64 of shape [vectors], given as [dimensions, vectors]."""
        keys = self._keys(times)
        if self.ticks == self._volume:
            return keys
        return np.searchsorted(self._present, keys)

    @cached_property
    def _present(self) -> np.ndarray:
        """Keys of all vectors, in order."""
        return self._keys(np.stack(counter_columns(self.counters)))

    @property
    def _volume(self) -> int:
        return int(np.prod([c.maximum - c.minimum + 1 for c in self.counters], dtype=object))

    def _keys(self, times: np.ndarray) -> np.ndarray:
        """Position in the surrounding box of constant bounds."""
        keys = np.zeros(times.shape[1], np.int64)
        for column, counter in zip(times, self.counters, strict=True):
            keys = keys * (counter.maximum - counter.minimum + 1) + (column - counter.minimum)
        return keys


def tick_clock(times: Iterable[isl.Map], slow: int = 1, pad: int = 0) -> TickClock:
    """Counters for all firing times. Every counter starts at the first and ends at the last value that times have at
    the values of the counters outside it, so only gaps between times cost ticks in which nothing fires.

    `slow`: values of the innermost counter, which is 0 in all firing times, if there are more than one. `pad`: ticks
    that are added to every run of the innermost counter.
    """
    fired = [time.range() for time in times]
    total = fired[0]
    for part in fired[1:]:
        total = total.union(part)
    total = total.coalesce()
    if slow > 1:
        total = total.union(_raised(total, slow - 1)).coalesce()
    count = total.dim(isl.dim_type.set)
    box = isl.Set("{ [] }")
    counters = []
    for dim in range(count):
        here = total.project_out(isl.dim_type.set, dim + 1, count - dim - 1).coalesce()
        counter, box = _counter(here, box, pad if dim == count - 1 else 0)
        counters.append(counter)
    return TickClock(tuple(counters), box, box.count_val().to_python())


def _raised(times: isl.Set, value: int) -> isl.Set:
    """`times` with another value of the innermost dimension."""
    last = times.dim(isl.dim_type.set) - 1
    moved = times.project_out(isl.dim_type.set, last, 1).insert_dims(isl.dim_type.set, last, 1)
    return moved.fix_val(isl.dim_type.set, last, isl.Val(value))


def _counter(here: isl.Set, box: isl.Set, pad: int) -> tuple[Counter, isl.Set]:
    """The counter of the last dimension of `here`, and `box` (the outer counters) with that dimension.

    `here`: the times without their inner dimensions.
    """
    dim = here.dim(isl.dim_type.set) - 1
    minimum, maximum = here.dim_min_val(dim).to_python(), here.dim_max_val(dim).to_python()
    values = isl.Map.from_range(here).move_dims(isl.dim_type.in_, 0, isl.dim_type.out, 0, dim)
    idle = _constant(box.subtract(values.domain()), minimum)
    last = values.lexmax().apply_range(isl.Map(f"{{ [h] -> [h + {pad}] }}"))
    bounds = [side.union(idle).coalesce() for side in (values.lexmin(), last)]
    pieces = [piecewise(bound, box) for bound in bounds]
    if any(len(parts) > _MOST_PIECES for parts in pieces):
        bounds = [_constant(box, minimum), _constant(box, maximum + pad)]
        pieces = [piecewise(bound, box) for bound in bounds]
    low, high = bounds
    reached = low.apply_range(isl.Map("{ [l] -> [t] : t >= l }"))
    reached = reached.intersect(high.apply_range(isl.Map("{ [h] -> [t] : t <= h }")))
    return Counter(pieces[0], pieces[1], minimum, maximum + pad), reached.wrap().flatten().coalesce()


def _constant(domain: isl.Set, value: int) -> isl.Map:
    """{point of `domain` -> [value]}."""
    return isl.Map.from_domain_and_range(domain, isl.Set(f"{{ [{value}] }}"))
