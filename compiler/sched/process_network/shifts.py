"""Times for statements that are to run beside others: their own loops, moved by a constant vector.

The order of time vectors does not change when all of them are moved, so the least vector by which readers have to come
later is the lexicographic maximum of (time of the write - time of the read) over all values that they read, and the
greatest by which writers may come earlier its negative. Larger vectors that are legal, too, come from the next value
of one dimension and zeros inside it: a whole row later, say, instead of an uneven step that makes rows longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, islice, permutations

import islpy as isl
import numpy as np

from compiler.analysis.dependences import Dependence
from compiler.sched.process_network.instances import Flows, Times

__all__ = ["Placement", "beside", "shifts"]

_MOST = 8
"""Ways to put loops into places that are tried."""


@dataclass(frozen=True)
class Placement:
    """Time dimension d of a statement becomes its dimension ``put[d]``, or the constant ``fixed[d]``, plus
    ``vector[d]``."""

    put: Mapping[int, int]
    fixed: Mapping[int, int]
    vector: tuple[int, ...]

    def times(self, own: Times) -> dict[str, isl.Map]:
        """`own` in these places."""
        count = len(self.vector)
        results = [f"{self.fixed.get(d, 0) if d in self.fixed else f't{self.put.get(d, d)}'} + {step}"
                   for d, step in enumerate(self.vector)]
        place = isl.Map(f"{{ [{', '.join(f't{k}' for k in range(count))}] -> [{', '.join(results)}] }}")
        return {name: time.apply_range(place) for name, time in own.items()}

    def learnt(self, own: Times, have: Mapping[str, np.ndarray], flows: Flows) -> dict[str, isl.Map]:
        """`times`, whose vectors `flows` knows then. `have`: the vectors of `own`, by statement; none if they are too
        many."""
        found = self.times(own)
        for name, time in found.items() if have else ():
            flows.vectors.learn(name, time, self.vectors(have[name]))
        return found

    def vectors(self, own: np.ndarray) -> np.ndarray:
        """The same for time vectors."""
        rows = [np.full(own.shape[1], self.fixed[d]) if d in self.fixed else own[self.put.get(d, d)]
                for d in range(len(self.vector))]
        return np.stack(rows) + np.array(self.vector)[:, None]


def beside(own: Times, placed: Times, flows: Flows, sizes: int) -> Iterator[Placement]:
    """Places for the statements of `own` among those of `placed`: their loops take the places of the loops there, in
    their own order first (a single statement also in others), and are moved so far that all `flows` from and to
    placed statements hold. Those among the statements of `own` are not looked at. The first `sizes` dimensions stay.
    """
    have = {name: flows.vectors.of(name, own) for name in own} if flows.vectors.few else {}
    (lows, highs), (least, most) = flows.vectors.extents(own), flows.vectors.extents(placed)
    loops, places = _varying(lows, highs, sizes), _varying(least, most, sizes)
    count, wanted = len(least), max(len(loops), len(places))
    places += range(max(places, default=sizes - 1) + 1, count)
    still = (0,) * count
    for put in islice(_arrangements(loops, places[:wanted], len(own) == 1), _MOST):
        based = Placement(put, {dim: least[dim] for dim in range(sizes, count) if dim not in put}, still)
        for moved in shifts(based.learnt(own, have, flows), placed, flows, sizes):
            yield replace(based, vector=moved.vector)


def _varying(lows: list[int], highs: list[int], sizes: int) -> list[int]:
    """Time dimensions after the first `sizes` that have several values, outermost first."""
    return [dim for dim, (low, high) in enumerate(zip(lows, highs, strict=True)) if low < high and dim >= sizes]


def _arrangements(loops: list[int], places: list[int], free: bool) -> Iterator[dict[int, int]]:
    """{place: loop} in all ways, if `free` also with the loops in other orders; their own order first."""
    for order in permutations(loops) if free else (tuple(loops),):
        for chosen in combinations(places, len(loops)):
            yield dict(zip(chosen, order, strict=True))


def shifts(own: Times, placed: Times, flows: Flows, sizes: int) -> Iterator[Placement]:
    """Vectors by which the times of `own` may be moved, the most uneven first; none if they would have to be both
    earlier and later. Where no values pass, both start at once."""
    times = {**placed, **own}
    count = next(iter(own.values())).dim(isl.dim_type.out)
    least = _extreme([d for d in flows.dependences if d.sink in own and d.source in placed], times, flows)
    most = _extreme([d for d in flows.dependences if d.source in own and d.sink in placed], times, flows)
    upper = None if most is None else tuple(-step for step in most)
    found: Iterator[tuple[int, ...]] = iter(())
    if least is None and upper is None:
        ends = zip(flows.vectors.extents(placed)[0], flows.vectors.extents(own)[0], strict=True)
        found = iter([(*(0 for _ in range(sizes)), *[there - here for there, here in ends][sizes:])])
    elif least is None and upper is not None:
        found = _rounded(upper, sizes, -1)
    elif least is not None and (upper is None or least <= upper):
        found = _rounded(least, sizes, 1)
    yield from (Placement({dim: dim for dim in range(count)}, {}, vector) for vector in found)


def _extreme(near: list[Dependence], times: Times, flows: Flows) -> tuple[int, ...] | None:
    """The lexicographic maximum of (write - read)."""
    found = []
    for dependence in near:
        found.append(_greatest(-flows.time_distances(dependence, times)) if flows.vectors.few else
                     flows.greatest_advance(dependence, times))
    return max(found, default=None)


def _greatest(vectors: np.ndarray) -> tuple[int, ...]:
    """The lexicographically greatest column."""
    for dim in range(len(vectors)):
        vectors = vectors[:, vectors[dim] == vectors[dim].max()]
    return tuple(vectors[:, 0].tolist())


def _rounded(vector: tuple[int, ...], sizes: int, step: int) -> Iterator[tuple[int, ...]]:
    """`vector`, and those that are further by one in one dimension and zero inside it, inner dimensions first."""
    yield vector
    for dim in reversed(range(sizes, len(vector))):
        if any(vector[dim + 1 :]):
            yield (*vector[:dim], vector[dim] + step, *(0 for _ in vector[dim + 1 :]))
