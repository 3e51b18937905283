"""Spilling: a phase whose registers do not fit the scratchpad, even with tiles of one element, is divided.

A value is stored in main memory as a temporary array and loaded again where it is needed. Of all values the one is
taken that leaves the least to hold at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.choose import Choice, choose
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.graph import Node, Op, Reduce, Stretch, nodes_of
from compiler.bind.vector.parts import split_parts
from compiler.bind.vector.phases import Phase, split, with_variants
from compiler.bind.vector.plan import make_plan
from compiler.bind.vector.sizes import Sizes, assign_sizes
from hw.vector_lanes.spec import VectorSpec

__all__ = ["plan_phase"]


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
        if isinstance(node, Op | Reduce | Stretch) and node not in results:
            yield node


def plan_phase(phase: Phase, spec: VectorSpec, builder: GraphBuilder, prefix: str,
               segment: tuple[int, ...] | None = None) -> list[tuple[Phase, Choice]]:
    """Plans of a phase, or of the phases it is divided into. Raises `VectorTargetError` if dividing does not help."""
    ready, sizes = _sized(phase)
    try:
        return [(ready, choose(ready, sizes, spec, segment))]
    except VectorTargetError:
        if segment is not None:
            raise
        parts = _divided(phase, spec, builder, prefix)
        if parts is None:
            raise
    return [pair for number, part in enumerate(parts)
            for pair in plan_phase(part, spec, builder, f"{prefix}_{number}")]


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
