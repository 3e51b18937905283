"""Right-looking order: what a step of a decomposition makes is used at once, everywhere, before the next step.

Programs often compute one element after the other, each from all that it needs (left-looking, lazy): LU decomposition
subtracts the whole sum from an element and divides it then, which the next element of the row waits for. The loop over
the terms of the sums can stand outside: all quotients of a step, which do not wait for each other, then all products
with them (Dongarra 1984, form kij). The loops around the statements differ in number, so each
statement says which of its own iterators is the step, and gets loops of its own inside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import islpy as isl
import networkx as nx

from compiler.analysis.dependences import flow
from compiler.ir.program import Program, Statement
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.legality import dependent_instances
from compiler.passes.directives.place import Place, places
from compiler.passes.directives.rewrite import moved
from compiler.passes.normalize.merge_equal import alike, merge_equal

__all__ = ["right_looking", "right_looking_script"]

_MOST = 10
"""Most statements of a nest."""


def right_looking(program: Program, statement: str) -> Program:
    """The nest around `statement` in right-looking order; statements that do the same in it become one.

    Raises `TransformError` if its loops walk anything but iterators, or if no such order keeps the result.
    """
    named = program.statement(statement)
    nest = _nests(program).get(places(program)[statement].positions[0])
    if nest is None:
        raise TransformError(f"{named}: right-looking order takes nests of up to {_MOST} statements in different "
                             "numbers of loops, each of which walks an iterator; use reorder for other nests")
    steps = next(_Steps(program, nest).choices(), None)
    if steps is None:
        raise TransformError(f"{named}: its nest has no right-looking order that keeps the result; name a statement of "
                             "another nest, or leave the directive out")
    return merge_equal(moved(program, places(program) | steps, f"right-looking order of {statement}"))


def right_looking_script(program: Program) -> str:
    """Directives for the nests in which a statement waits for others in deeper loops and these for it, as quotients and
    sums do in a decomposition; "" if there is none."""
    try:
        nests = _nests(program)
    except TransformError:  # the order is not one of loops
        return ""
    found = []
    for nest in nests.values():
        if _recurs(program, nest) and next(_Steps(program, nest).choices(), None) is not None:
            found.append(f"right_looking({nest[0].name})")
    return "; ".join(found)


def _recurs(program: Program, nest: Sequence[Statement]) -> bool:
    """Whether statements in different numbers of loops wait for each other."""
    loops = {statement.name: len(statement.iterators) for statement in nest}
    graph = nx.DiGraph((d.source, d.sink) for d in flow(program) if d.source in loops and d.sink in loops)
    return any(len({loops[name] for name in members}) > 1 for members in nx.strongly_connected_components(graph))


def _nests(program: Program) -> dict[int, list[Statement]]:
    """Statements by the position of their outermost loop, where they are in different numbers of loops, each of which
    walks an iterator."""
    nests: dict[int, list[Statement]] = defaultdict(list)
    walking: dict[int, bool] = defaultdict(lambda: True)
    for name, place in places(program).items():
        statement = program.statement(name)
        nests[place.positions[0]].append(statement)
        depths = [place.iterator(depth) for depth in range(len(place.loops))]
        walking[place.positions[0]] &= bool(depths) and depths == list(range(len(statement.iterators)))
    return {number: nest for number, nest in nests.items()
            if walking[number] and len({len(s.iterators) for s in nest}) > 1 and len(nest) <= _MOST}


@dataclass
class _Steps:
    """Which iterator of each statement of a nest is the step."""

    program: Program
    nest: Sequence[Statement]

    def __post_init__(self) -> None:
        self.pairs: Callable[[str, str], isl.Map] = cache(lambda first, second: dependent_instances(
            self.program, self.program.statement(first), self.program.statement(second)))
        self.deepest = sorted(self.nest, key=lambda statement: -len(statement.iterators))

    def choices(self) -> Iterator[dict[str, Place]]:
        """Places of the statements with other steps than they have, those with inner iterators first."""
        for chosen in self._extended({}):
            order = self._order(chosen) if any(chosen.values()) else None
            if order is not None:
                yield order

    def _extended(self, chosen: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
        """Numbers of iterators, those of `chosen` among them: no instance waits for one of a later step."""
        if len(chosen) == len(self.nest):
            yield chosen
            return
        statement = self.deepest[len(chosen)]
        for iterator in reversed(range(len(statement.iterators))):
            trial = {**chosen, statement.name: iterator}
            if all(self._rises(trial, other, statement.name) and self._rises(trial, statement.name, other)
                   for other in trial):
                yield from self._extended(trial)

    def _rises(self, chosen: Mapping[str, int], first: str, second: str) -> bool:
        return self._compared(chosen, first, second, ">").is_empty()

    def _compared(self, chosen: Mapping[str, int], first: str, second: str, how: str) -> isl.Map:
        """Dependent instances whose steps compare so."""
        pairs = self.pairs(first, second)
        names = [[f"{side}{k}" for k in range(pairs.dim(kind))]
                 for side, kind in (("a", isl.dim_type.in_), ("b", isl.dim_type.out))]
        one, other = names[0][chosen[first]], names[1][chosen[second]]
        return pairs.intersect(isl.Map(f"{{ {first}[{', '.join(names[0])}] -> {second}[{', '.join(names[1])}] : "
                                       f"{one} {how} {other} }}"))

    def _order(self, chosen: Mapping[str, int]) -> dict[str, Place] | None:
        """The statements in loops of their own inside the step, those that do the same in one place, each behind those
        that it waits for there; None if they wait for each other."""
        leaders: dict[str, str] = {}
        for statement in self.nest:
            same = (other for other in leaders if chosen[other] == chosen[statement.name]
                    and alike(self.program.statement(other), statement))
            leaders[statement.name] = leaders[found] if (found := next(same, None)) else statement.name
        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(leaders.values())
        graph.add_edges_from((leaders[first], leaders[second]) for first in leaders for second in leaders
                             if leaders[first] != leaders[second]
                             and not self._compared(chosen, first, second, "=").is_empty())
        try:
            order = list(nx.lexicographical_topological_sort(graph, key=list(leaders).index))
        except nx.NetworkXUnfeasible:
            return None
        where = places(self.program)
        return {name: _led(where[name], chosen[name], order.index(leader)) for name, leader in leaders.items()}


def _led(place: Place, step: int, position: int) -> Place:
    """`place` with loop number `step` outermost, and in it loops at this position."""
    loops = (place.loops[step], *place.loops[:step], *place.loops[step + 1 :])
    return replace(place, loops=loops, positions=(place.positions[0], position, *(0 for _ in loops[1:])))
