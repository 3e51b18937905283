"""How values travel in the common space of loops: from the instance that makes them to those that use them.

Uses of one value are a *group*. A value with several uses goes to the first one and from use to use in steps of one
constant direction each (Wang 2021, section 3.2: a read dependence), so that a broadcast becomes propagation between
neighbours. Everything is by value; what is overwritten later does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

from compiler.ir.relations import coordinates

__all__ = ["Distance", "Link", "NotUniform", "chains", "distances", "link_up", "link_via", "shift"]

Distance = tuple[int, ...]
"""Point of the user minus point of the maker, loop by loop, outermost first."""

_MOST_DISTANCES = 4
"""Distances that the uses of one read may have; more of them count as varying."""

_FEW_DISTANCES = 2
"""So many may be a start and the rest, whatever they look like together."""


class NotUniform(Exception):
    """Uses of a value at distances that vary: two users with their sources."""

    def __init__(self, witnesses: Sequence[tuple[Distance, Distance]]) -> None:
        super().__init__()
        self.witnesses = witnesses


@dataclass(frozen=True)
class Link:
    """At the points `users` (a set of the common space) the value comes from `distance` before: from the use there if
    `passes`, else from the statement that makes it. `via`: number of the group whose use it is, if not the own one."""

    distance: Distance
    users: isl.Set
    passes: bool
    via: int | None = None

    def __hash__(self) -> int:
        return hash((self.distance, self.passes, self.via))

    @property
    def givers(self) -> isl.Set:
        """The points that send."""
        return self.users.apply(shift(self.distance))


def shift(distance: Distance) -> isl.Map:
    """{point -> the point `distance` before it}."""
    names = [f"x{k}" for k in range(len(distance))]
    before = ", ".join(f"{n} - ({d})" for n, d in zip(names, distance, strict=True))
    return isl.Map(f"{{ [{', '.join(names)}] -> [{before}] }}")


def _near(vectors: isl.Set) -> list[Distance]:
    """Those of `vectors` that are lexicographically positive steps between neighbours, along few loops first, inner
    loops first."""
    count = vectors.dim(isl.dim_type.set)
    names = [f"x{k}" for k in range(count)]
    limits = " and ".join(f"-1 <= {name} <= 1" for name in names)
    found: list[Distance] = []
    steps = vectors.intersect(isl.Set(f"{{ [{', '.join(names)}] : {limits} }}"))
    steps.foreach_point(lambda point: found.append(coordinates(point)))
    ahead = [d for d in found if next((v for v in d if v), -1) > 0]
    return sorted(ahead, key=lambda d: (sum(map(abs, d)), d))


def chains(sources: isl.Map) -> tuple[list[Link], isl.Map]:
    """Links from use to use for the single-valued {user -> source}, and {user -> source} of those that are left: the
    first ones."""
    found: list[Link] = []
    left = sources
    if sources.is_injective():
        return found, left
    between = sources.apply_range(sources.reverse()).deltas()
    offers = [(d, shift(d).apply_range(sources).intersect(sources).domain()) for d in _near(between)]
    while not left.is_injective():
        gains = [users.intersect(left.domain()) for _, users in offers]
        counts = [0 if users.is_empty() else users.count_val().to_python() for users in gains]
        if not any(counts):
            break
        best = counts.index(max(counts))
        found.append(Link(offers[best][0], gains[best].coalesce(), True))
        left = left.subtract_domain(gains[best]).coalesce()
    return found, left


def distances(relation: isl.Map, few: bool) -> list[Distance]:
    """The distances of {user -> maker}. Raises `NotUniform` if they vary; `few`: one or two never do."""
    deltas = relation.reverse().deltas().coalesce()
    if deltas.is_empty():
        return []
    count = deltas.count_val().to_python()
    if count > _MOST_DISTANCES or (count > _FEW_DISTANCES * few and not _pieces_are_uniform(relation)):
        raise NotUniform([_witness(relation, end) for end in (deltas.lexmin(), deltas.lexmax())])
    points: list[Distance] = []
    deltas.foreach_point(lambda point: points.append(coordinates(point)))
    return sorted(points)


def _pieces_are_uniform(relation: isl.Map) -> bool:
    """Whether few pieces with one distance each make the relation: small extents do not make distances constant."""
    pieces: list[isl.BasicMap] = []
    relation.coalesce().foreach_basic_map(pieces.append)
    return all(isl.Map.from_basic_map(piece).deltas().is_singleton() for piece in pieces)


def _witness(relation: isl.Map, distance: isl.Set) -> tuple[Distance, Distance]:
    pair = relation.intersect(shift(coordinates(distance.sample_point()))).lexmin().sample()
    pair = pair.wrap().flatten().sample_point()
    numbers = coordinates(pair)
    half = len(numbers) // 2
    return numbers[:half], numbers[half:]


def link_via(sources: isl.Map, others: Sequence[tuple[int, isl.Map]]) -> list[Link] | None:
    """Links for uses whose first ones take the values from uses of other groups, (number, {user -> maker}), at the same
    point or a neighbouring one; None if there are none such. A value that goes along a row and, from its end on, down a
    column is a case of this."""
    found, left = chains(sources)
    here = (0,) * sources.dim(isl.dim_type.in_)
    vectors = isl.Set.empty(sources.domain().get_space())
    for _, other in others:
        vectors = vectors.union(other.apply_range(left.reverse()).deltas())
    for distance in (here, *_near(vectors)):
        for number, other in others:
            users = shift(distance).apply_range(other).intersect(left).domain()
            if not users.is_empty():
                found.append(Link(distance, users.coalesce(), True, number))
                left = left.subtract_domain(users).coalesce()
    return found if left.is_empty() else None


def link_up(sources: isl.Map, *, few: bool = False) -> list[Link]:
    """Links for the uses of values: {user -> maker}, both points of the common space. Raises `NotUniform`; `few` as in
    `distances`."""
    found, left = chains(sources)
    if not left.is_injective():
        again = left.apply_range(left.reverse()).subtract(isl.Map.identity(left.domain().get_space().map_from_set()))
        pair = coordinates(again.sample().wrap().flatten().sample_point())
        half = len(pair) // 2
        raise NotUniform([(pair[:half], pair[half:])])
    for distance in distances(left, few):
        users = left.intersect(shift(distance)).domain().coalesce()
        found.append(Link(distance, users, False))
    return found
