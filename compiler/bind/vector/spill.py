"""Planning phases, and spilling: a phase whose registers do not fit the scratchpad, even with tiles of one element, is
divided.

A value is stored in main memory as a temporary array and loaded again where it is needed. Of all values the one is
taken that leaves the least to hold at once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial

from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.graph import Node, Op, Reduce, Scatter, Stretch, Take, nodes_of
from compiler.bind.vector.phase_key import phase_key
from compiler.bind.vector.phases import Phase, split, with_variants
from compiler.bind.vector.plan import make_plan
from compiler.bind.vector.sizes import Sizes, assign_sizes
from compiler.bind.vector.strided_leaves import split_parts
from compiler.bind.vector.tile_search import Budget, Choice, choose, first_choice
from compiler.bind.vector.tiling import Tiling
from hw.vector_lanes.spec import VectorSpec

__all__ = ["PhasePlanner", "sized"]

FEW, SHARE = 8, 16
"""Plans of more phases than the first are searched for only where a phase takes at least the second's part of the
cycles: recurrences become hundreds of small phases, and none of them is worth the search."""

STATEMENTS = 200_000
"""Statements of code that searches for plans may time for one program."""

TRIED = 16
"""Values, about, that are tried at a time of those that might be stored in memory."""

Planned = tuple[Phase, Choice]
Picks = Callable[[Phase, Sizes, VectorSpec], Choice]
"""How the plan of a phase is found. Raises `VectorTargetError` if none fits the scratchpad."""


def sized(phase: Phase) -> tuple[Phase, Sizes]:
    """A phase that is ready to be planned, and the sizes of its values."""
    graph, sizes = assign_sizes(with_variants(split_parts(phase.graph, GraphBuilder()), GraphBuilder()), GraphBuilder())
    return Phase(graph, phase.temporaries), sizes


def _least_bytes(phase: Phase, spec: VectorSpec) -> int:
    """Scratchpad that tiles of one element take."""
    ready, sizes = sized(phase)
    return make_plan(ready, sizes, spec, Tiling((1,) * len(phase.shape))).allocation.bytes


def _candidates(phase: Phase) -> Iterator[Node]:
    results = {r.node for r in phase.graph.results}
    for node in nodes_of(list(results)):
        if isinstance(node, Op | Reduce | Scatter | Stretch | Take) and node not in results:
            yield node


class PhasePlanner:
    """Plans the phases of the graphs that a program may become, with a budget for all of them. Phases that are alike
    are planned once. Without `search` the plans are the first ones that fit."""

    def __init__(self, spec: VectorSpec, search: bool = True, statements: int = STATEMENTS) -> None:
        self.spec, self._search, self._left = spec, search, statements
        self._known: dict[Hashable, Planned] = {}

    def with_segment(self, phase: Phase, segment: tuple[int, ...]) -> list[Planned]:
        """The plan of a phase with tiles of that shape. Raises `VectorTargetError` if they do not fit."""
        ready, sizes = sized(phase)
        return [(ready, choose(ready, sizes, self.spec, Budget(self._left), segment))]

    def plans(self, phases: Sequence[Phase], builder: GraphBuilder, is_last: bool = True) -> list[Planned]:
        """Plans of all phases, in order, each of them or of the phases it is divided into. They share the budget, of
        which something is left for other graphs unless this `is_last`. Raises `VectorTargetError` if dividing does not
        help."""
        plans: dict[int, list[Planned]] = {}
        if len(phases) > FEW or not self._search:
            plans = {n: self._found(phase, builder, _prefix(n), None) for n, phase in enumerate(phases)}
            cycles = {n: sum(choice.cycles for _, choice in parts) for n, parts in plans.items()}
            total = sum(cycles.values())
            plans = {n: parts for n, parts in plans.items() if not self._search or SHARE * cycles[n] < total}
        # What the searches for small phases leave is for the larger ones.
        rest = sorted((n for n in range(len(phases)) if n not in plans), key=lambda n: _size(phases[n]))
        others = 0 if is_last else self._left // 3
        for place, n in enumerate(rest):
            share = (self._left - others) // (len(rest) - place)
            budget = Budget(share)
            plans[n] = self._found(phases[n], builder, _prefix(n), budget)
            self._left -= share - budget.left
        return [planned for n in range(len(phases)) for planned in plans[n]]

    def _found(self, phase: Phase, builder: GraphBuilder, prefix: str, budget: Budget | None) -> list[Planned]:
        """The plan of a phase, or that of one like it; without a `budget` the first one that fits."""
        key = phase_key(phase), budget is None
        if key in self._known:
            ready, choice = self._known[key]
            return [(Phase(ready.graph, phase.temporaries), choice)]
        found = self._planned(phase, builder, prefix, partial(_pick, budget=budget))
        if len(found) == 1:
            (self._known[key],) = found
        return found

    def _planned(self, phase: Phase, builder: GraphBuilder, prefix: str, pick: Picks) -> list[Planned]:
        ready, sizes = sized(phase)
        try:
            return [(ready, pick(ready, sizes, self.spec))]
        except VectorTargetError:
            parts = _divided(phase, self.spec, builder, prefix)
            if parts is None:
                raise
        return [planned for number, part in enumerate(parts)
                for planned in self._planned(part, builder, f"{prefix}_{number}", pick)]


def _pick(phase: Phase, sizes: Sizes, spec: VectorSpec, budget: Budget | None) -> Choice:
    return first_choice(phase, sizes, spec) if budget is None else choose(phase, sizes, spec, budget)


def _size(phase: Phase) -> int:
    """Values of a phase."""
    return sum(1 for _ in nodes_of([result.node for result in phase.graph.results]))


def _prefix(number: int) -> str:
    return f"spilled_{number}"


def _divided(phase: Phase, spec: VectorSpec, builder: GraphBuilder, prefix: str) -> list[Phase] | None:
    """The phases, of which one holds the value that leaves the least to hold at once; None if no value does. Of many
    values, in their order, some are tried, and then those around the best of these."""
    best, least, place = None, _least_bytes(phase, spec), 0
    nodes = list(_candidates(phase))
    near, step = range(len(nodes)), len(nodes) + 1
    while step > 1:
        step = max(1, len(near) // TRIED)
        for number in near[::step]:
            parts = split(phase.graph, builder, (nodes[number],), prefix)
            needed = max(_least_bytes(part, spec) for part in parts)
            if needed < least:
                best, least, place = parts, needed, number
        near = range(max(0, place - step + 1), min(place + step, len(nodes)))
    if best is not None:
        best[-1].temporaries += phase.temporaries
    return best
