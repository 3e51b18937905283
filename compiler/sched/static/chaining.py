"""Operator chaining: paths through operators without registers, and which of them are longer than a clock period.

A recurrence's latency is the delay of its operators, not their number, if they have no registers of their own and
registers are put where a path would be too long (retiming: Leiserson and Saxe 1991). A path over edges whose values
come a number of cycles after each other needs a register exactly where its delay is more than a period; in terms of the
times of its ends that is a difference constraint like all others of retiming, whatever lies between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

import networkx as nx

__all__ = ["Path", "Stage", "long_paths"]


@dataclass(frozen=True)
class Stage:
    """An operator as paths see it, times in nanoseconds.

    `delay`: from its operands to its result; if it is not `through`, to its first register, where paths end.
    `launch`: from a clock edge to its result if all its operands come from registers.
    """

    delay: float = 0.0
    launch: float = 0.0
    through: bool = False


class Path(NamedTuple):
    """Stages from `source` to `sink`, whose edges take `distance` cycles altogether besides their registers."""

    source: int
    sink: int
    distance: int


Edges = Sequence[Sequence[tuple[int, int]]]
"""For each stage the (stage, cycles) that its value goes to."""


def long_paths(stages: Sequence[Stage], edges: Edges, period: float) -> set[Path]:
    """The paths that take longer than `period`: each needs a register somewhere between source and sink. Of those that
    begin alike only the shortest are among them. Delays of more than a period count as one."""
    ranks = _ranks(edges)
    return {path for source in range(len(stages)) for path in _from(source, stages, edges, period, ranks)}


def _ranks(edges: Edges) -> list[int]:
    """Of every stage a number that is higher than those of the stages whose values come to it in the same cycle."""
    graph: nx.DiGraph[int] = nx.DiGraph((stage, sink) for stage, out in enumerate(edges)
                                        for sink, cycles in out if not cycles)
    ranks = [0] * len(edges)
    parts = nx.condensation(graph)
    for rank, generation in enumerate(nx.topological_generations(parts)):
        for part in generation:
            for stage in parts.nodes[part]["members"]:
                ranks[stage] = rank
    return ranks


def _from(source: int, stages: Sequence[Stage], edges: Edges, period: float, ranks: Sequence[int]) -> set[Path]:
    """Those from one stage. A path that is there later, over no fewer cycles, than another is not followed: the latest
    over as many cycles is known when all stages of lower rank are."""
    found: dict[int, int] = {}
    followed: dict[int, list[tuple[int, float]]] = {}
    arrivals = {(0, source): min(stages[source].launch, period)}
    pending = [(0, ranks[source], source)]
    while pending:
        distance, _, stage = heappop(pending)
        arrival = arrivals[distance, stage]
        if _is_known(followed.setdefault(stage, []), distance, arrival):
            continue
        followed[stage].append((distance, arrival))
        for sink, cycles in edges[stage]:
            reached, later = distance + cycles, arrival + min(stages[sink].delay, period)
            if later > period:
                found[sink] = min(found.get(sink, reached), reached)
            elif stages[sink].through and later > arrivals.get((reached, sink), -1):
                arrivals[reached, sink] = later
                heappush(pending, (reached, ranks[sink], sink))
    return {Path(source, sink, distance) for sink, distance in found.items()}


def _is_known(labels: Sequence[tuple[int, float]], distance: int, arrival: float) -> bool:
    """Whether a path to the same place implies what this one asks for."""
    return any(d <= distance and a >= arrival for d, a in labels)
