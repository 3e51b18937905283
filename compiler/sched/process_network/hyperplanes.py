"""Levels of instances that do not wait for each other: planes in the space of the loops.

Lamport's hyperplanes: a linear function of the loops, plus a constant for every statement, that grows along every flow
of a value. Either of all loops, or of the inner ones, while the outer ones run in their order.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import product

import islpy as isl
import numpy as np

from compiler.analysis.dependences import Dependence
from compiler.ir.program import Program
from compiler.sched.process_network.instances import Flows, Times, time_keys, varying
from compiler.sched.process_network.transfers import is_copy

__all__ = ["deepest", "planes", "without_copies"]

_STEEPEST = 4
"""Greatest coefficient of a loop."""

_DEPTH = 8
"""Ticks that a level is taken to last at least, to compare planes by."""

_MOST = 2
"""Planes that are given."""


def without_copies(program: Program, dependences: tuple[Dependence, ...]) -> tuple[list[str], tuple[Dependence, ...]]:
    """Statements that are no copies, and the flow between them, that through copies included. A copy that reads its own
    results stays."""
    copies = [s.name for s in program.statements if is_copy(s)]
    return _without(copies, [s.name for s in program.statements], dependences)


def _without(removed: Collection[str], names: Collection[str],
             dependences: tuple[Dependence, ...]) -> tuple[list[str], tuple[Dependence, ...]]:
    """`names` but for `removed`, and the flow between them, that through removed ones included. Those that read their
    own results, or nothing, stay."""
    flows, left = list(dependences), list(names)
    for name in [n for n in names if n in removed]:
        before = [d for d in flows if d.sink == name]
        if before and all(d.source != name for d in before):
            left.remove(name)
            after = [d for d in flows if d.source == name]
            flows = [d for d in flows if name not in (d.source, d.sink)]
            flows += _passed(flows, before, after)
    return left, tuple(flows)


def _passed(known: Collection[Dependence], before: Collection[Dependence],
            after: Collection[Dependence]) -> list[Dependence]:
    """What passes a statement from those it reads to those that read it, but for what is `known`: the number of ways
    doubles with every branch that joins again."""
    relations: dict[tuple[str, str], list[isl.Map]] = {}
    for d in known:
        relations.setdefault((d.source, d.sink), []).append(d.relation)
    found: list[Dependence] = []
    for d in after:
        for b in before:
            same = relations.setdefault((b.source, d.sink), [])
            relation = d.relation.apply_range(b.relation)
            if not relation.is_empty() and not any(relation.is_equal(other) for other in same):
                same.append(relation)
                found.append(replace(d, source=b.source, relation=relation))
    return found


def deepest(whole: Times, dependences: tuple[Dependence, ...], sizes: int,
            flows: Flows) -> tuple[list[str], tuple[Dependence, ...]]:
    """Statements of `whole` in the most loops, and the flow between them, that through the others included; none if all
    are in as many loops, or some others read their own results."""
    loops = {name: len(varying(flows.vectors.of(name, whole), sizes)) for name in whole}
    deep = [name for name in whole if loops[name] == max(loops.values())]
    names, direct = _without([name for name in whole if name not in deep], list(whole), dependences)
    return (deep, direct) if len(deep) < len(whole) and names == deep else ([], ())


def planes(whole: Times, dependences: tuple[Dependence, ...], sizes: int, flows: Flows) -> list[dict[str, isl.Map]]:
    """Times with levels for the statements of `whole`, which have as many loops each; the best ones first."""
    vectors = flows.vectors
    if not vectors.few:
        return []
    loops = {name: varying(vectors.of(name, whole), sizes) for name in whole}
    depth = len(next(iter(loops.values())))
    if any(len(own) != depth for own in loops.values()):
        return []
    points = {name: vectors.of(name, whole)[loops[name]] for name in whole}
    steps = [_Step(d.source, d.sink, np.unique(flows.distances(d, points), axis=1)) for d in dependences]
    found = [plane for outer in range(depth) if (plane := _plane(outer, steps, points)) is not None]
    found.sort(key=lambda plane: plane.cost(points))
    return [_times(plane, whole, loops, sizes) for plane in found[:_MOST]]


@dataclass(frozen=True)
class _Step:
    """`distances` from writes to reads, in loops: int64 of shape [loops, different distances]."""

    source: str
    sink: str
    distances: np.ndarray


@dataclass(frozen=True)
class _Plane:
    """The loops after the first `outer` have `slopes`; statements are moved by `offsets`."""

    outer: int
    slopes: tuple[int, ...]
    offsets: dict[str, int]

    def cost(self, points: dict[str, np.ndarray]) -> int:
        """Ticks, if no level takes less than `_DEPTH`."""
        rows = [np.vstack([own[: self.outer], self.slopes @ own[self.outer :] + self.offsets[name]])
                for name, own in points.items()]
        _, widths = np.unique(time_keys(np.concatenate(rows, axis=1)), return_counts=True)
        return int(np.maximum(widths, _DEPTH).sum())


def _plane(outer: int, steps: list[_Step], points: dict[str, np.ndarray]) -> _Plane | None:
    """The plane with the fewest levels, None if there is none."""
    inside = []
    for step in steps:
        first = step.distances[:outer]
        leading = np.sign(first).T @ (3 ** np.arange(outer)[::-1])
        if (leading < 0).any():
            return None
        inside.append(replace(step, distances=step.distances[outer:, leading == 0]))
    depth = len(next(iter(points.values()))) - outer
    extents = [max(int(np.ptp(own[outer + k])) for own in points.values()) for k in range(depth)]
    for slopes in sorted(product(range(_STEEPEST + 1), repeat=depth), key=lambda s: np.dot(s, extents)):
        offsets = _offsets(slopes, inside, list(points))
        if offsets is not None and any(slopes):
            return _Plane(outer, slopes, offsets)
    return None


def _offsets(slopes: tuple[int, ...], steps: list[_Step], names: list[str]) -> dict[str, int] | None:
    """The least constants with which every step rises, None if there are none."""
    needs = [(s.source, s.sink, 1 - int((slopes @ s.distances).min())) for s in steps if s.distances.size]
    if any(need > 0 for source, sink, need in needs if source == sink):
        return None
    offsets = dict.fromkeys(names, 0)
    for _ in names:
        before = dict(offsets)
        for source, sink, need in needs:
            offsets[sink] = max(offsets[sink], offsets[source] + need)
        if before == offsets:
            return offsets
    return None


def _times(plane: _Plane, whole: Times, loops: dict[str, list[int]], sizes: int) -> dict[str, isl.Map]:
    """[sizes, outer loops, level, inner loops but for one that follows from the others]."""
    count = next(iter(whole.values())).dim(isl.dim_type.out)
    spare = next((k for k, slope in enumerate(plane.slopes) if slope == 1), None)
    found = {}
    for name, time in whole.items():
        own = [f"t{dim}" for dim in loops[name]]
        level = " + ".join(f"{slope} * {loop}" for slope, loop in zip(plane.slopes, own[plane.outer :], strict=True))
        inner = [loop for k, loop in enumerate(own[plane.outer :]) if k != spare]
        results = [*(f"t{k}" for k in range(sizes)), *own[: plane.outer], f"{level} + {plane.offsets[name]}", *inner]
        results += ["0"] * (count - len(results))
        place = isl.Map(f"{{ [{', '.join(f't{k}' for k in range(count))}] -> [{', '.join(results)}] }}")
        found[name] = time.apply_range(place)
    return found
