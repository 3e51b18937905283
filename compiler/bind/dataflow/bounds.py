"""Ticks that no schedule can do without: the operators' firings, and the longest chain of values through them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from compiler.analysis.dependences import flow
from compiler.bind.dataflow.expressions import Pipeline
from compiler.ir.points import enumerate_points, evaluate_map
from compiler.sched.process_network import NodeKind, ProcessNetwork
from compiler.sched.process_network.instances import PointNumbers

__all__ = ["TickBound", "tick_bound"]

_MOST_FIRINGS = 200_000

_MOST_TAILS = 64
"""About how many distances to the outputs are looked at."""


@dataclass(frozen=True)
class TickBound:
    """Lower bounds in ticks. `busiest`: firings of the node that fires most. `flow`: some firings of one node, which
    take a tick each, with the ticks before any of them can have its operands and after any of them until an output has
    what comes of it; of the firings for which this is most (among those that are late or near their outputs by so
    much). `path`: the longest chain of operators from an input to an output. The latter two are 0 for programs with
    more than 200 000 firings."""

    busiest: int
    flow: int
    path: int

    @property
    def ticks(self) -> int:
        """The strongest of them."""
        return max(self.busiest, self.flow, self.path)


@dataclass(frozen=True)
class _Step:
    """Firings `sinks` of node `sink` wait at least `ticks` after the firings `sources` of node `source`."""

    source: str
    sources: np.ndarray
    sink: str
    sinks: np.ndarray
    ticks: int


def tick_bound(network: ProcessNetwork, pipelines: Mapping[str, Pipeline]) -> TickBound:
    """Bounds for the program of `network` with the operators of `pipelines`; its schedule does not matter."""
    if sum(node.firings for node in network.nodes) > _MOST_FIRINGS:
        return TickBound(network.busiest, 0, 0)
    steps = _steps(network, pipelines)
    counts = {node.name: node.firings for node in network.nodes}
    outputs = {node.name for node in network.nodes if node.kind is NodeKind.OUTPUT}
    before = _longest(steps, {name: np.zeros(count, np.int64) for name, count in counts.items()})
    backward = [_Step(s.sink, s.sinks, s.source, s.sources, s.ticks) for s in steps]
    after = _longest(backward, {name: np.zeros(count, np.int64) for name, count in counts.items()})
    whole = max(int(before[name].max()) + 1 for name in outputs)
    through = max(_through(before[name], after[name]) for name in counts)
    return TickBound(network.busiest, through, whole)


def _through(before: np.ndarray, after: np.ndarray) -> int:
    """The bound by one node, whose firings have at least so many ticks before and after them."""
    order = np.argsort(before)
    before, after = before[order], after[order]
    tails = np.unique(after)
    best = 0
    for tail in tails[:: max(1, len(tails) // _MOST_TAILS)].tolist():
        heads = before[after >= tail]
        best = max(best, int((heads + np.arange(len(heads), 0, -1)).max()) + tail)
    return best


def _longest(steps: list[_Step], ticks: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The least tick of every firing, by node: relaxed until nothing changes."""
    changed = set(ticks)
    while changed:
        moved = set()
        for step in steps:
            if step.source not in changed:
                continue
            wanted = ticks[step.source][step.sources] + step.ticks
            if (wanted > ticks[step.sink][step.sinks]).any():
                np.maximum.at(ticks[step.sink], step.sinks, wanted)
                moved.add(step.sink)
        changed = moved
    return ticks


def _steps(network: ProcessNetwork, pipelines: Mapping[str, Pipeline]) -> list[_Step]:
    """Value-based flow between single firings."""
    keys = {node.name: PointNumbers(network.statement(node).domain) for node in network.nodes}
    found = []
    for dependence in flow(network.program):
        source, sink = pipelines[dependence.source], pipelines[dependence.sink]
        readers = dependence.relation.domain()
        count, columns = enumerate_points(readers)
        writers = evaluate_map(dependence.relation, readers, columns, count)
        found.append(_Step(dependence.source, keys[dependence.source].numbers(writers, count), dependence.sink,
                           keys[dependence.sink].numbers(columns, count),
                           source.latency - sink.offsets[dependence.read]))
    return found
