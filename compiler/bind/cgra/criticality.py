"""What placement should aim at: for each edge the hops that the retiming would like it to have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ortools.linear_solver import pywraplp

from compiler.bind.cgra.netlist import Edge, Netlist, Pin, StreamOut
from compiler.bind.cgra.timing import RecurrenceViolation, TimingSystem, linear_solver

__all__ = ["Target", "targets"]

_SLACK = 6
_LOOP = 3.0

_SHORTAGE, _LATENCY, _WORD = 50, 2, 1
"""Cost of a cycle that an input stage lacks, of a cycle of output latency, of a delay word."""


class Target(NamedTuple):
    """With fewer hops than `shortest` an edge lacks delay. `criticality`: 1 where every hop delays the outputs, less
    where there is slack, 0 from `_SLACK` cycles of slack on; more than 1 in a loop that is too slow."""

    shortest: int
    criticality: float


def targets(netlist: Netlist, hops: Mapping[Pin, int], delay_depth: int, stream_latency: int) -> dict[Pin, Target]:
    """Targets by sink pin, from the best times for the given hops. A shortage of delay is only a cost here."""
    system = TimingSystem(netlist, hops, delay_depth, stream_latency)
    times = _compromise(system)
    critical = _criticality(system)
    found: dict[Pin, Target] = {}
    for bound in system.bounds:
        if isinstance(bound.cause, Edge):
            shortest = hops[bound.cause.sink] + times[bound.after] - times[bound.before] - bound.high
            found[bound.cause.sink] = Target(shortest, critical.get(bound.cause, 0.0))
    return found


def _criticality(system: TimingSystem) -> dict[Edge, float]:
    """Criticality of the edges that have any, from their slack with unlimited delays; of a slow loop first of all."""
    try:
        earliest = system.earliest(limits=False)
    except RecurrenceViolation as loop:
        return {cause: _LOOP for cause in loop.causes if isinstance(cause, Edge)}
    latest = system.latest(earliest)
    slacks = {b.cause: latest[b.after] - earliest[b.before] - b.low for b in system.bounds}
    return {e: 1 - slack / _SLACK for e, slack in slacks.items() if isinstance(e, Edge) and slack < _SLACK}


def _compromise(system: TimingSystem) -> list[int]:
    """Times that break as few limits by as little as possible, where they cannot be met."""
    solver = linear_solver()
    infinity = solver.infinity()
    times = [solver.NumVar(system.anchors.get(i, -infinity), infinity, "") for i in range(len(system.variables))]
    costs: list[pywraplp.LinearExpr] = [_LATENCY * times[index] for index in system.outputs()]
    nodes = system.netlist.nodes
    for bound in system.bounds:
        gap = times[bound.after] - times[bound.before]
        late, lacking = solver.NumVar(0, infinity, ""), solver.NumVar(0, infinity, "")
        solver.Add(gap + late >= bound.low)
        solver.Add(gap - lacking <= bound.high)
        costs += [_SHORTAGE * late, _SHORTAGE * lacking]
        if isinstance(bound.cause, Edge) and not isinstance(nodes[bound.cause.sink.node], StreamOut):
            costs.append(_WORD * gap)
    solver.Minimize(solver.Sum(costs))
    if solver.Solve() != pywraplp.Solver.OPTIMAL:
        return [0] * len(times)
    return [round(variable.solution_value()) for variable in times]
