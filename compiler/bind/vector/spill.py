"""Planning phases, and spilling: a phase whose registers do not fit the scratchpad, even with tiles of one element, is
divided.

A value is stored in main memory as a temporary array and loaded again where it is needed. Of all values the one is
taken that leaves the least to hold at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.graph import Node, Op, Reduce, Scatter, Stretch, Take, nodes_of
from compiler.bind.vector.phases import Phase, split, with_variants
from compiler.bind.vector.plan import make_plan
from compiler.bind.vector.sizes import Sizes, assign_sizes
from compiler.bind.vector.strided_leaves import split_parts
from compiler.bind.vector.tile_search import Choice, choose, first_choice
from hw.vector_lanes.spec import VectorSpec

__all__ = ["plan_phases"]

FEW, SHARE = 8, 16
"""Plans of more phases than the first are searched for only where a phase takes at least the second's part of the
cycles: recurrences become hundreds of small phases, and none of them is worth the search."""

Planned = tuple[Phase, Choice]
Picks = Callable[[Phase, Sizes, VectorSpec], Choice]
"""How the plan of a phase is found. Raises `VectorTargetError` if none fits the scratchpad."""


def _sized(phase: Phase) -> tuple[Phase, Sizes]:
    graph, sizes = assign_sizes(with_variants(split_parts(phase.graph, GraphBuilder()), GraphBuilder()), GraphBuilder())
    return Phase(graph, phase.temporaries), sizes


def _least_bytes(phase: Phase, spec: VectorSpec) -> int:
    """Scratchpad that tiles of one element take."""
    ready, sizes = _sized(phase)
    return make_plan(ready, sizes, spec, (1,) * len(phase.shape)).allocation.bytes


def _candidates(phase: Phase) -> Iterator[Node]:
    results = {r.node for r in phase.graph.results}
    for node in nodes_of(list(results)):
        if isinstance(node, Op | Reduce | Scatter | Stretch | Take) and node not in results:
            yield node


def plan_phases(phases: list[Phase], spec: VectorSpec, builder: GraphBuilder,
                segment: tuple[int, ...] | None = None, search: bool = True) -> list[Planned]:
    """Plans of all phases, in order, each of them or of the phases it is divided into. `segment`: the tile of the only
    phase, which is not divided then. Without `search` the first plans that fit. Raises `VectorTargetError` if dividing
    does not help."""
    if segment is not None:
        (phase,) = phases
        ready, sizes = _sized(phase)
        return [(ready, choose(ready, sizes, spec, segment))]
    plans: list[list[Planned] | None] = [None] * len(phases)
    if len(phases) > FEW or not search:
        first = [_planned(phase, spec, builder, _prefix(n), first_choice) for n, phase in enumerate(phases)]
        cycles = [sum(choice.cycles for _, choice in parts) for parts in first]
        plans = [parts if not search or SHARE * own < sum(cycles) else None
                 for parts, own in zip(first, cycles, strict=True)]
    return [planned for n, (phase, parts) in enumerate(zip(phases, plans, strict=True))
            for planned in parts or _planned(phase, spec, builder, _prefix(n), choose)]


def _prefix(number: int) -> str:
    return f"spilled_{number}"


def _planned(phase: Phase, spec: VectorSpec, builder: GraphBuilder, prefix: str, pick: Picks) -> list[Planned]:
    ready, sizes = _sized(phase)
    try:
        return [(ready, pick(ready, sizes, spec))]
    except VectorTargetError:
        parts = _divided(phase, spec, builder, prefix)
        if parts is None:
            raise
    return [planned for number, part in enumerate(parts)
            for planned in _planned(part, spec, builder, f"{prefix}_{number}", pick)]


def _divided(phase: Phase, spec: VectorSpec, builder: GraphBuilder, prefix: str) -> list[Phase] | None:
    best, least = None, _least_bytes(phase, spec)
    for node in _candidates(phase):
        parts = split(phase.graph, builder, (node,), prefix)
        needed = max(_least_bytes(part, spec) for part in parts)
        if needed < least:
            best, least = parts, needed
    if best is not None:
        best[-1].temporaries += phase.temporaries
    return best
