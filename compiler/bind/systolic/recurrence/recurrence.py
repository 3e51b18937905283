"""A program as recurrence equations in one space of loops: places of statements, links of values, inputs and results.

Wang 2021, sections 3.2 and 4.1, by value: arrays that are overwritten in place become single assignments by themselves,
and statements inside fewer loops get a place in the others that makes their dependences uniform.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import islice

import islpy as isl

from compiler.analysis.dependences import Dependence, flow
from compiler.attempts import note_attempt
from compiler.bind.systolic.recurrence.links import Distance, Link, NotUniform, chains, link_up, link_via
from compiler.ir.program import Program, Statement
from compiler.passes.normalize.dead_statements import remove_dead_statements
from compiler.passes.normalize.merge_equal import merge_equal
from compiler.sched.process_network.transfers import is_copy
from compiler.sched.space_time.errors import SpaceTimeError
from compiler.sched.space_time.nests import identity
from compiler.sched.space_time.places import Choices, Offer, PlaceSearch, Values, place_choices

__all__ = ["Group", "Recurrence", "Result", "analyse_recurrence"]

_Rank = tuple[int, tuple[int, int], int, tuple[int, ...]]
"""Of a place: values that go by other uses, size (box and points), distances, number among the offers."""

Use = tuple[str, int]
"""Statement, and the number of its read."""

_SHIFTS = (0, 1, -1, 2, -2)
_ROUNDABOUT = 1000
"""Effort of values whose first use is at distances that vary."""

_MOST_OFFERS = 400
"""Places of a statement that are looked at."""

_RENAMED = 3
"""Loops of the array up to which statements of fewer loops may be at places where loops of other names are theirs."""


@dataclass(frozen=True)
class Group:
    """Uses of the values of statement `maker`, or of the elements of input `array` if that is None, that travel
    together, with their points. `sources`: {point of the use -> point of the maker, or element}. `entries`: points at
    which words of the input come in."""

    maker: str | None
    array: str
    uses: Mapping[Use, isl.Set]
    sources: isl.Map
    links: tuple[Link, ...]
    entries: isl.Set

    def __hash__(self) -> int:
        return hash((self.maker, self.array, tuple(self.uses)))


@dataclass(frozen=True)
class Result:
    """Elements of an output that `statement` writes last: {point -> element}."""

    statement: str
    array: str
    elements: isl.Map

    def __hash__(self) -> int:
        return hash((self.statement, self.array))


@dataclass(frozen=True)
class Recurrence:
    """`program`: equal statements are one. `places`: statement -> {instance -> point of the `loops`}. `order`:
    statements in the order in which they run at one point."""

    program: Program
    loops: tuple[str, ...]
    places: Mapping[str, isl.Map]
    order: tuple[str, ...]
    groups: tuple[Group, ...]
    results: tuple[Result, ...]

    def __hash__(self) -> int:
        return hash((self.program, self.loops))

    def points(self, statement: str) -> isl.Set:
        """Where the instances of `statement` are."""
        return self.places[statement].range()

    def of_use(self, statement: str, read: int) -> list[Group]:
        """The groups that deliver a read."""
        return [g for g in self.groups if (statement, read) in g.uses]


def analyse_recurrence(program: Program) -> Recurrence:
    """The recurrence of `program`. Raises `SpaceTimeError` for dependences that are not uniform, with two instances and
    the source line, and `DependenceError` for values that are read before they are written."""
    program = merge_equal(remove_dead_statements(program))
    flows = flow(program)
    anchor = _anchor(program)
    loops = anchor.iterators
    places = _places(program, anchor, flows)
    groups = _groups(program, loops, places, flows)
    return Recurrence(program, loops, places, _order(program, groups), groups, tuple(_results(program, places)))


# Places.


def _anchor(program: Program) -> Statement:
    """The statement whose loops are those of the array: the deepest, which does not only copy if that can be, with most
    instances. Raises `SpaceTimeError` if it has no loops."""
    anchor = max(program.statements, key=lambda s: (len(s.iterators), not is_copy(s), s.domain.count_val().to_python()))
    if not anchor.iterators:
        raise SpaceTimeError(f"program '{program.name}' has no loop around any statement; an array needs at least one")
    return anchor


def _places(program: Program, anchor: Statement, flows: Sequence[Dependence]) -> dict[str, isl.Map]:
    """A place for every statement, starting with the `anchor`."""
    loops = anchor.iterators
    start = identity(anchor, loops)
    assert start is not None
    places = {anchor.name: start}
    while len(places) < len(program.statements):
        statement = _next(program, places, flows)
        places[statement.name] = _place(program, loops, places, statement, flows)
    return places


def _next(program: Program, places: Mapping[str, isl.Map], flows: Sequence[Dependence]) -> Statement:
    """The statement of most loops among those that share values with placed ones."""
    waiting = [s for s in program.statements if s.name not in places]
    near = [s for s in waiting if _between(s.name, places, flows)]
    return max(near or waiting, key=lambda s: len(s.iterators))


def _between(name: str, places: Mapping[str, isl.Map], flows: Sequence[Dependence]) -> list[Dependence]:
    """Flows of statement `name` whose other end is placed, or itself."""
    known = {*places, name}
    return [d for d in flows if name in (d.sink, d.source) and d.sink in known and d.source in known]


def _place(program: Program, loops: tuple[str, ...], places: Mapping[str, isl.Map], statement: Statement,
           flows: Sequence[Dependence]) -> isl.Map:
    note_attempt(f"places of {statement}")
    near = _between(statement.name, places, flows)
    whole = identity(statement, loops)
    if whole is not None and _goes_straight(program, {**places, statement.name: whole}, loops, near):
        return whole
    found = _Places(program, loops, places, statement, near)
    found.look_at(_choices(places, loops, statement, by_name=True))
    if len(loops) <= _RENAMED and (found.best is None or found.best[0][0]):
        found.look_at(_choices(places, loops, statement, by_name=False))
    return found.place()


@dataclass
class _Places:
    """The best place of `statement`: with the fewest values of `near` that go by other uses, then the smallest array,
    then the shortest ways. `failure`: why a place was none."""

    program: Program
    loops: tuple[str, ...]
    places: Mapping[str, isl.Map]
    statement: Statement
    near: Sequence[Dependence]
    best: tuple[_Rank, isl.Map] | None = None
    failure: SpaceTimeError | None = None

    def look_at(self, choices: Sequence[Choices]) -> None:
        """Compare the offers of `choices`, up to a number of them."""
        total = _union(self.places)
        least = total.count_val().to_python()
        search = PlaceSearch(self.statement, self.loops, self._values(), _box(total))
        offer = None
        for offer in islice(search.offers(choices), _MOST_OFFERS):
            if self.best is not None and not self._may_be_better(offer, least):
                return
            self._try(offer, total)
        if offer is None and self.best is None and choices:
            self._try(next(search.offers(choices, forward=False, once=True)), total)  # it says what is wrong

    def _values(self) -> list[Values]:
        return [Values(d.relation, self.places.get(d.sink), self.places.get(d.source)) for d in self.near]

    def _may_be_better(self, offer: Offer, points: int) -> bool:
        """Whether an `offer`, or one that comes after it, may be better than the best one. No offer has less `points`
        than that."""
        assert self.best is not None
        around, (volume, used), effort, number = self.best[0]
        if around or offer.volume != volume or used > points:
            return around > 0 or offer.volume <= volume
        return (offer.distance, offer.number) < (effort, number)

    def _try(self, offer: Offer, total: isl.Set) -> None:
        used = total.union(offer.place.range()).count_val().to_python()
        size = offer.volume, used
        if self.best is not None and (0, size) > self.best[0][:2]:
            return
        try:
            effort = sum(_effort(self.program, {**self.places, self.statement.name: offer.place}, self.loops, d)
                         for d in self.near)
        except SpaceTimeError as error:
            self.failure = self.failure or error
            return
        rank = effort // _ROUNDABOUT, size, effort, offer.number
        if self.best is None or rank < self.best[0]:
            self.best = rank, offer.place

    def place(self) -> isl.Map:
        """The best one. Raises `SpaceTimeError` if there is none."""
        if self.best is None:
            raise self.failure or SpaceTimeError(f"{self.statement}: it has no place among loops "
                                                 f"{', '.join(self.loops)}")
        return self.best[1]


def _goes_straight(program: Program, places: Mapping[str, isl.Map], loops: tuple[str, ...],
                   dependences: Sequence[Dependence]) -> bool:
    """Whether all values can travel, none of them by other uses."""
    try:
        return all(_effort(program, places, loops, d) < _ROUNDABOUT for d in dependences)
    except SpaceTimeError:
        return False


def _choices(places: Mapping[str, isl.Map], loops: tuple[str, ...], statement: Statement, by_name: bool
             ) -> list[Choices]:
    """What the loops may be for `statement`. One that has as many stays itself, or moves a little."""
    if len(statement.iterators) == len(loops):
        return [tuple(tuple(f"{name} + ({d})" for d in _SHIFTS) for name in statement.iterators)] if by_name else []
    bounds = dict(zip(loops, _box(_union(places)), strict=True))
    return place_choices(statement, loops, bounds, by_name=by_name)


def _box(points: isl.Set) -> list[tuple[int, int]]:
    """The least and the greatest value of each loop."""
    return [(points.dim_min_val(k).to_python(), points.dim_max_val(k).to_python())
            for k in range(points.dim(isl.dim_type.set))]


def _union(places: Mapping[str, isl.Map]) -> isl.Set:
    total, *others = (place.range() for place in places.values())
    for other in others:
        total = total.union(other)
    return total.coalesce()


def _effort(program: Program, places: Mapping[str, isl.Map], loops: tuple[str, ...], dependence: Dependence) -> int:
    """Sum of the distances that the values of a dependence travel; many if they have to go by other uses. Raises
    `SpaceTimeError` if they would travel backwards."""
    sources = _placed(places, dependence)
    try:
        links = link_up(sources)
    except NotUniform:
        return _ROUNDABOUT
    for link in links:
        if next((v for v in link.distance if v), 0) < 0:
            raise _backwards(program, loops, dependence, link.distance)
    return sum(sum(map(abs, link.distance)) for link in links)


def _placed(places: Mapping[str, isl.Map], dependence: Dependence) -> isl.Map:
    """{point of the user -> point of the maker}."""
    return dependence.relation.apply_domain(places[dependence.sink]).apply_range(places[dependence.source])


def _linked(program: Program, loops: tuple[str, ...], dependences: Sequence[Dependence], sources: isl.Map, *,
            few: bool = False) -> list[Link]:
    """Links of one group. Raises `SpaceTimeError`; `few` as in `links.distances`."""
    try:
        links = link_up(sources, few=few)
    except NotUniform as error:
        raise _varying(program, loops, dependences[0], error) from None
    for link in links:
        if next((v for v in link.distance if v), 0) < 0:
            raise _backwards(program, loops, dependences[0], link.distance)
    return links


def _label(program: Program, dependence: Dependence) -> str:
    sink = program.statement(dependence.sink)
    return f"{sink.label(sink.reads[dependence.read])}: "


def _varying(program: Program, loops: tuple[str, ...], dependence: Dependence, error: NotUniform) -> SpaceTimeError:
    pairs = " and ".join(f"{user} of {maker}" for user, maker in error.witnesses)
    return SpaceTimeError(f"{_label(program, dependence)}its values of '{dependence.array}' from statement "
                          f"'{dependence.source}' come from distances that vary (not uniform): in loops "
                          f"{', '.join(loops)}, {pairs}; legal are constant distances, and values used again and again "
                          "in a constant direction")


def _backwards(program: Program, loops: tuple[str, ...], dependence: Dependence, distance: Distance) -> SpaceTimeError:
    return SpaceTimeError(f"{_label(program, dependence)}it would use '{dependence.array}' of statement "
                          f"'{dependence.source}' at distance {distance} in loops {', '.join(loops)}, before it is "
                          "made; legal are nests whose statements follow each other in the innermost loops")


# Groups.


def _groups(program: Program, loops: tuple[str, ...], places: Mapping[str, isl.Map], flows: Sequence[Dependence]
            ) -> tuple[Group, ...]:
    found: list[tuple[list[Dependence], isl.Map, list[Link]]] = []
    late: list[tuple[Dependence, isl.Map]] = []
    for dependence in flows:
        sources = _placed(places, dependence).coalesce()
        try:
            links = _linked(program, loops, [dependence], sources)
        except SpaceTimeError:
            late.append((dependence, sources))
            continue
        for number, (members, others, _) in enumerate(found):
            if members[0].source == dependence.source:
                joined = others.union(sources).coalesce()
                together = _joined(program, loops, [*members, dependence], joined)
                if together is not None:
                    found[number] = [*members, dependence], joined, together
                    break
        else:
            found.append(([dependence], sources, links))
    for dependence, sources in late:
        others = [(k, known) for k, (members, known, _) in enumerate(found) if members[0].source == dependence.source]
        roundabout = link_via(sources, others)
        if roundabout is None:
            roundabout = _linked(program, loops, [dependence], sources, few=True)
        found.append(([dependence], sources, roundabout))
    groups = [Group(members[0].source, members[0].array,
                    {(d.sink, d.read): _placed(places, d).domain().coalesce() for d in members}, sources, tuple(links),
                    isl.Set.empty(sources.domain().get_space())) for members, sources, links in found]
    return (*groups, *_inputs(program, places))


def _joined(program: Program, loops: tuple[str, ...], members: Sequence[Dependence], sources: isl.Map
            ) -> list[Link] | None:
    """Links of uses that travel together, None if they cannot."""
    if not sources.is_single_valued():
        return None
    try:
        return _linked(program, loops, members, sources)
    except SpaceTimeError:
        return None


def _inputs(program: Program, places: Mapping[str, isl.Map]) -> Iterator[Group]:
    for array in program.inputs:
        found: list[tuple[dict[Use, isl.Set], isl.Map]] = []
        for statement in program.statements:
            for number, access in enumerate(statement.reads):
                if access.array != array.name:
                    continue
                sources = access.map.intersect_domain(statement.domain).apply_domain(places[statement.name]).coalesce()
                for place, (uses, others) in enumerate(found):
                    joined = others.union(sources).coalesce()
                    if joined.is_single_valued():
                        found[place] = uses | {(statement.name, number): sources.domain()}, joined
                        break
                else:
                    found.append(({(statement.name, number): sources.domain()}, sources))
        for uses, sources in found:
            links, left = chains(sources)
            yield Group(None, array.name, uses, sources, tuple(links), left.domain().coalesce())


def _order(program: Program, groups: Sequence[Group]) -> tuple[str, ...]:
    """Statements such that values used at the point where they are made are made first."""
    graph: dict[str, set[str]] = {s.name: set() for s in program.statements}
    for group in groups:
        for link in group.links:
            if group.maker is not None and not any(link.distance) and not link.passes:
                for (statement, _), points in group.uses.items():
                    if not points.is_disjoint(link.users):
                        graph[statement].add(group.maker)
    try:
        return tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        names = ", ".join(dict.fromkeys(error.args[1]))
        raise SpaceTimeError(f"{program.statement(error.args[1][0])}: statements {names} wait for each other at one "
                             "point of the loops") from None


# Results.


def _results(program: Program, places: Mapping[str, isl.Map]) -> Iterator[Result]:
    for array in program.outputs:
        writers = [s for s in program.statements if s.write.array == array.name]
        written = {s.name: s.write.map.intersect_domain(s.domain).reverse() for s in writers}
        times = {s.name: written[s.name].apply_range(program.order_of(s.name)) for s in writers}
        last, *others = times.values()
        for other in others:
            last = last.union(other)
        last = last.lexmax()
        for statement in writers:
            back = last.apply_range(program.order_of(statement.name).reverse()).intersect(written[statement.name])
            if not back.is_empty():
                yield Result(statement.name, array.name, back.reverse().apply_domain(places[statement.name]).coalesce())


