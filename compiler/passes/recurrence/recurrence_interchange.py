"""Loops around sums in an order in which a sum has the time to come back.

A reduction whose loop is innermost, as people write it, adds to one sum again and again: hardware that needs some
cycles from one addition to the next stands still between them. Exchanged with a loop over other sums, the same
additions leave each of them that time, for a word of memory per sum (Liu 2023, section 4.3: reduction loops outside).
A sum with no such loop is computed in partial sums that take turns, which integers allow.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from math import prod

import islpy as isl
import networkx as nx

from compiler.analysis.boxes import extents
from compiler.analysis.dependences import Dependence, DependenceError, flow, recurrences
from compiler.ir.program import Program
from compiler.passes.directives import TransformError, apply_script
from compiler.passes.directives.place import Place, places
from compiler.passes.recurrence.consumer_loop_order import reading_order

__all__ = ["recurrence_order"]


def recurrence_order(program: Program, cycles: int | None, parts: str = "partial") -> str:
    """Directives that move loops inside those that carry a recurrence, until what it carries is back after `cycles`
    steps (None: after as many as there can be) or no loop is left that could move; "" if every recurrence has the time,
    or none can be given more.

    Statements that share the loops of a recurrence get loops of their own where it leaves them. Loops move only where
    that changes no result, which the directives check; inside, they stand as whoever reads the results walks these.
    What then still comes back too soon, and is a sum, is split into partial sums by the directive `parts`, "partial" or
    "reassociate", which also takes sums of floating-point numbers; "" for none.
    """
    cycles = _EVER if cycles is None else cycles
    program, moves, moved = _followed(program, _reordered, cycles)
    program, reading = _for_readers(program, moved) if moves else (program, [])
    split = _followed(program, partial(_in_parts, directive=parts), cycles)[1] if parts else []
    return "; ".join([*moves, *reading, *split])


_EVER = 1 << 62
"""More steps than any program has."""


def _followed(program: Program, suggestions: Callable[[Program, int], Iterator[_Nest | _Parts]],
              cycles: int) -> tuple[Program, list[str], set[str]]:
    """`program` with one suggestion after the other for statements that none has been made for, as long as there are
    any; the directives of those that could be followed, and the statements of all."""
    taken: list[str] = []
    known: set[str] = set()
    with suppress(TransformError, DependenceError):
        while (found := next((s for s in suggestions(program, cycles) if not s.members <= known), None)) is not None:
            known |= found.members
            for text in _directives(program, found):
                with suppress(TransformError):
                    program = apply_script(program, text)
                    taken.append(text)
                    break
    return program, taken, known


def _directives(program: Program, found: _Nest | _Parts) -> Iterator[str]:
    """The directives of a suggestion, those of a nest in several ways."""
    for each in _ways(program, found) if isinstance(found, _Nest) else (found,):
        with suppress(TransformError):
            yield each.directives(program)


def _ways(program: Program, nest: _Nest) -> Iterator[_Nest]:
    """The nest with all statements beside its own, so that what these compute needs no memory on the way: those of
    other recurrences that none of its inner loops carries, or none of these; and alone. Then with fewer loops inside,
    the outermost ones left where they are."""
    where = places(program)
    prefix = where[next(iter(nest.members))].positions[: len(nest.loops)]
    beside = frozenset(name for name, place in where.items() if place.positions[: len(nest.loops)] == prefix)
    others = [recurrence for recurrence in _recurrences(program) if not recurrence.members <= nest.members]
    without = beside.difference(*(recurrence.members - nest.members for recurrence in others))
    while nest.moves:
        held = [recurrence.members - nest.members for recurrence in others
                if any(recurrence.loops[depth] in nest.inner for depth in recurrence.carrying)]
        for members in dict.fromkeys((beside.difference(*held), without, nest.members)):
            yield replace(nest, members=members)
        nest = replace(nest, inner=nest.inner[1:])


def _for_readers(program: Program, moved: Collection[str]) -> tuple[Program, list[str]]:
    """`program` with the loops inside those that carry a recurrence, of statements that have been `moved`, in the order
    of who reads their values, and the directives for that; the last readers first."""
    taken: list[str] = []
    for name in reversed([s.name for s in program.statements if s.name in moved]):
        with suppress(TransformError, DependenceError):
            mine = next((r for r in _recurrences(program) if r.members == {name}), None)
            loops = mine.loops[max(mine.carrying) + 1:] if mine else ()
            order = reading_order(program, name, loops)
            if order != list(loops):
                text = f"reorder({', '.join(order)}, on=[{name}])"
                program = apply_script(program, text)
                taken.append(text)
    return program, taken


@dataclass(frozen=True)
class _Nest:
    """Statements of one recurrence and the loops that they share: names and trips, outermost first. `inner`: the loops
    that carry nothing and move inside the others."""

    members: frozenset[str]
    loops: tuple[str, ...]
    inner: tuple[str, ...]

    @property
    def order(self) -> tuple[str, ...]:
        """All loops, as they are to be."""
        return (*(name for name in self.loops if name not in self.inner), *self.inner)

    @property
    def moves(self) -> bool:
        """Whether that is another order than there is."""
        return self.order != self.loops

    def directives(self, program: Program) -> str:
        """The directives that make this order. Raises `TransformError`."""
        order = self.order
        depth = next(k for k, (new, old) in enumerate(zip(order, self.loops, strict=True)) if new != old)
        found = []
        for statement in _leaving(program, self.members, depth + 1):
            found.append(f"distribute({statement}, {depth + 1})")
            program = apply_script(program, found[-1])
        names = [s.name for s in program.statements if s.name in self.members]
        return "; ".join([*found, f"reorder({', '.join(order[depth:])}, on=[{', '.join(names)}])"])


@dataclass(frozen=True)
class _Parts:
    """A sum over `iterator` in `count` parts, by a `directive`."""

    members: frozenset[str]
    iterator: str
    count: int
    directive: str

    def directives(self, program: Program) -> str:
        """Its call; whether the statement is a sum is found when it applies."""
        (name,) = self.members
        return f"{self.directive}({name}, {self.iterator}, {self.count})"


def _leaving(program: Program, members: frozenset[str], depth: int) -> list[str]:
    """The statements before which loop number `depth`, which the members share, has to be taken apart so that it has
    no others."""
    where = places(program)
    mine = where[next(iter(members))].positions[:depth]
    inside = sorted((place.positions[depth:], name) for name, place in where.items()
                    if place.positions[:depth] == mine and len(place.loops) >= depth)
    names = [name for _, name in inside]
    return [name for before, name in pairwise(names) if (before in members) != (name in members)]


def _reordered(program: Program, cycles: int) -> Iterator[_Nest | _Parts]:
    """The recurrences whose values come back after fewer than `cycles` steps and have loops that can move inside."""
    return (nest for recurrence in _recurrences(program) if (nest := recurrence.nest(program, cycles)) is not None)


def _in_parts(program: Program, cycles: int, directive: str) -> Iterator[_Nest | _Parts]:
    """The statements that see their own values after fewer than `cycles` steps, with a loop that parts divide."""
    found = (recurrence.parts(program, cycles, directive) for recurrence in _recurrences(program))
    return (parts for parts in found if parts is not None)


def _recurrences(program: Program) -> Iterator[_Recurrence]:
    """Statements that see values of each other, with the loops that they share, where these are iterators."""
    dependences = flow(program)
    carried = recurrences(program, dependences)
    where = places(program)
    graph = nx.DiGraph((d.source, d.sink) for d in dependences)
    for component in nx.strongly_connected_components(graph):
        inside = [d for d in dependences if d.key in carried and d.source in component and d.sink in component]
        members = frozenset(component)
        loops = _shared_loops(program, members, where) if inside else ()
        carrying = frozenset(depth for d in inside for depth in _carrying(d, where, len(loops)))
        if loops and carrying and len(loops) not in carrying:
            yield _Recurrence(members, loops, carrying)


@dataclass(frozen=True)
class _Recurrence:
    """Statements that see values of each other in later steps of the loops that they share, `loops` from the outermost
    on; `carrying`: the loops, by depth, of which it is another step."""

    members: frozenset[str]
    loops: tuple[str, ...]
    carrying: frozenset[int]

    def _trips(self, program: Program) -> list[int]:
        statement = program.statement(next(iter(self.members)))
        trips = extents(statement.domain)
        return [trips[statement.iterators.index(name)] for name in self.loops]

    def nest(self, program: Program, cycles: int) -> _Nest | None:
        """The loops that could move inside; None if the recurrence has the time, or there are none."""
        trips, innermost = self._trips(program), max(self.carrying)
        if prod(trips[innermost + 1:]) >= cycles:
            return None
        inner: list[int] = []
        for depth in reversed(range(len(self.loops))):
            if depth not in self.carrying and prod(trips[k] for k in inner) < cycles:
                inner.insert(0, depth)
        moved = [depth for depth in inner if depth < innermost and trips[depth] > 1]
        return _Nest(self.members, self.loops, tuple(self.loops[k] for k in inner)) if moved else None

    def parts(self, program: Program, cycles: int, directive: str) -> _Parts | None:
        """The fewest parts that give the recurrence the time, or else the most, those that divide the loop first; None
        if it has the time, or there are none. A sum of integers, whose adder takes a cycle or two, is left alone rather
        than that its last round has gaps."""
        trips, innermost = self._trips(program), max(self.carrying)
        there = prod(trips[innermost + 1:])
        counts = [n for n in range(2, trips[innermost] // 2 + 1)
                  if directive == "reassociate" or trips[innermost] % n == 0]
        if there >= cycles or not counts or len(self.members) > 1:
            return None
        enough = [n for n in counts if n * there >= cycles] or counts[-1:]
        dividing = (n for n in enough if trips[innermost] % n == 0)
        return _Parts(self.members, self.loops[innermost], next(dividing, enough[0]), directive)


def _shared_loops(program: Program, members: frozenset[str], where: Mapping[str, Place]) -> tuple[str, ...]:
    """The iterators of the loops that all members share, where they are all that they have and called alike."""
    found = set()
    for name in members:
        place, statement = where[name], program.statement(name)
        numbers = [place.iterator(depth) for depth in range(len(place.loops))]
        if None in numbers:
            return ()
        found.add((place.positions[: len(numbers)], tuple(statement.iterators[k] for k in numbers if k is not None)))
    return found.pop()[1] if len(found) == 1 else ()


def _carrying(dependence: Dependence, where: Mapping[str, Place], count: int) -> Iterator[int]:
    """The loops, by depth, in which a step sees values of an earlier one; `count` for values of the same step."""
    source, sink = where[dependence.source], where[dependence.sink]
    rest = dependence.relation
    for depth in range(count):
        same = _equal(source.loops[depth], sink.loops[depth], rest)
        if not rest.is_subset(same):
            yield depth
        rest = rest.intersect(same)
    if not rest.is_empty():
        yield count


def _equal(source: isl.Aff, sink: isl.Aff, relation: isl.Map) -> isl.Map:
    """The part of a relation from instances of a sink to those of its source at equal times of two loops."""
    there = isl.Map.from_aff(sink)
    back = isl.Map.from_aff(source).reverse()
    return relation.intersect(there.apply_range(back))
