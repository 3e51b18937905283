"""Which loops of readers move them along which dimensions of an array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import islpy as isl

from compiler.analysis.affine import pieces, slopes
from compiler.analysis.dependences import constant_bounds
from compiler.ir.program import Access, Statement

__all__ = ["driving_loops", "inner_trips"]


def inner_trips(statement: Statement, depth: int) -> list[int]:
    """Trip counts of the loops inside a tile."""
    return [high - low + 1 for low, high in list(constant_bounds(statement).values())[depth:]]


def driving_loops(statement: Statement, accesses: Sequence[Access], depth: int) -> dict[int, int]:
    """For the dimensions that reads move along: the place in the nest of the loop that moves one of them the farthest,
    the outermost such loop of all reads. None if a read goes backwards: it waits for the last words whatever the order
    of the others.

    Of reads that walk the dimensions in different orders, as those of ``A[i][k] * A[j][k]`` do, only those count that
    move in the innermost loop: they need another word in every step, and the others rest in between.
    """
    trips = inner_trips(statement, depth)
    found = [_places(statement, access, trips, depth) for access in accesses]
    if any(places is None for places in found):
        return {}
    moving = [places for places in found if places]
    if any(_turned(a, b) for a, b in combinations(moving, 2)):
        innermost = max(max(places.values()) for places in moving)
        moving = [places for places in moving if innermost in places.values()]
    return {dimension: min(places[dimension] for places in moving if dimension in places)
            for dimension in sorted(set().union(*moving))}


def _places(statement: Statement, access: Access, trips: Sequence[int], depth: int) -> dict[int, int] | None:
    """For the dimensions that a read moves along the place of the loop that moves it the farthest, None if it goes
    backwards."""
    function = pieces(access.map.intersect_domain(statement.domain))[0][1]
    found: dict[int, int] = {}
    for dimension in range(function.dim(isl.dim_type.out)):
        steps = slopes(function.get_aff(dimension))[depth:]
        reach = [step * (count - 1) for step, count in zip(steps, trips, strict=True)]
        if min(reach, default=0) < 0:
            return None
        if max(reach, default=0) > 0:
            found[dimension] = reach.index(max(reach))
    return found


def _turned(first: Mapping[int, int], second: Mapping[int, int]) -> bool:
    """Whether two reads walk a pair of dimensions in different orders."""
    both = sorted(first.keys() & second.keys())
    return any((first[a] - first[b]) * (second[a] - second[b]) < 0 for a, b in combinations(both, 2))
