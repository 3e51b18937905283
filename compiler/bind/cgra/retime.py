"""Retiming: physical times for every unit and the delay of every input stage.

Exact: the constraints are difference constraints, so the linear program has an integer optimum. Liu 2023,
sections 4.2 and 5.7 (branch delay matching).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ortools.linear_solver import pywraplp

from compiler.bind.cgra.netlist import Edge, Netlist, PeNode, Pin, SkewBound, StreamOut
from compiler.bind.cgra.timing import RecurrenceViolation, TimingSystem, linear_solver
from hw.errors import SluiceError

__all__ = ["DelayShortage", "Retiming", "retime", "shortage"]


_LISTED = 3
"""Edges that a message names."""


class DelayShortage(SluiceError):
    """Input stages are too short to balance the paths. `missing` maps each edge to the cycles it lacks."""

    def __init__(self, missing: dict[Edge, int], delay_depth: int):
        self.missing = missing
        listing = ", ".join(f"{edge} lacks {cycles}" for edge, cycles in [*missing.items()][:_LISTED])
        more = f" and {len(missing) - _LISTED} more" if len(missing) > _LISTED else ""
        super().__init__(f"input stages delay by at most {delay_depth - 1} cycles: {listing}{more}")


@dataclass(frozen=True)
class Retiming:
    """Physical times, in unstalled cycles.

    `times`: for each driven output pin the cycle in which the value of logical cycle 0 is visible to the
    switch boxes; for each input pin of a memory or output stream the cycle in which the word of logical cycle 0
    is at the core (the bank, for a stream). `delays`: extra delay of each input stage, 0 .. delay_depth - 1.
    """

    times: dict[Pin, int]
    delays: dict[Pin, int]
    latest: int

    @property
    def words(self) -> int:
        """Sum of all extra delays: words of storage that balance the paths."""
        return sum(self.delays.values())

    def __str__(self) -> str:
        lines = [f"latest output at {self.latest}, {self.words} delay words"]
        lines += [f"T({pin}) = {time}" for pin, time in sorted(self.times.items())]
        lines += [f"delay {pin} = {delay}" for pin, delay in sorted(self.delays.items()) if delay]
        return "\n".join(lines)


def retime(netlist: Netlist, hops: Mapping[Pin, int], delay_depth: int = 16, stream_latency: int = 2) -> Retiming:
    """Times with the least latest output and, among those, the fewest delay words.

    `hops`: switch-box registers on the route to each sink pin. Raises `DelayShortage` naming the edges that
    need more than an input stage has, `RecurrenceViolation` if a feedback loop is too slow for its distance.
    """
    system = TimingSystem(netlist, hops, delay_depth, stream_latency)
    system.earliest(limits=False)
    try:
        earliest = system.earliest(limits=True)
    except RecurrenceViolation:
        raise DelayShortage(shortage(system), delay_depth) from None
    watched = system.outputs() or range(len(earliest))
    latest = max((earliest[index] for index in watched), default=0)
    return _result(system, _fewest_words(system, earliest, latest), latest)


def _fewest_words(system: TimingSystem, earliest: list[int], latest: int) -> list[int]:
    """Times >= `earliest` with outputs no later than `latest` and the least sum of delays."""
    if not earliest:
        return []
    solver = linear_solver()
    horizon = max(earliest) - min(earliest) + latest + sum(abs(bound.low) for bound in system.bounds)
    outputs = set(system.outputs())
    times = [solver.NumVar(time, latest if i in outputs else horizon, "") for i, time in enumerate(earliest)]
    for bound in system.bounds:
        solver.Add(times[bound.after] - times[bound.before] >= bound.low)
        solver.Add(times[bound.after] - times[bound.before] <= bound.high)
    # One unit of weight on every time picks the earliest among equal optima.
    weight = len(times) * (max(earliest) - min(earliest) + system.delay_depth)
    edges = [b for b in system.bounds if isinstance(b.cause, Edge)]
    solver.Minimize(solver.Sum([weight * (times[b.after] - times[b.before]) for b in edges] + times))
    if solver.Solve() != pywraplp.Solver.OPTIMAL:
        raise AssertionError("a system with a least solution has an optimum")
    return _integers(system, [variable.solution_value() for variable in times])


def _integers(system: TimingSystem, values: list[float]) -> list[int]:
    times = [round(value) for value in values]
    if any(not b.low <= times[b.after] - times[b.before] <= b.high for b in system.bounds):
        raise AssertionError("the optimum of a difference system is integral")
    return times


def shortage(system: TimingSystem) -> dict[Edge, int]:
    """The least total of extra cycles, by edge, that makes a solution possible."""
    solver = linear_solver()
    infinity = solver.infinity()
    times = [solver.NumVar(system.anchors.get(i, -infinity), infinity, "") for i in range(len(system.variables))]
    extras: dict[Edge, pywraplp.Variable] = {}
    for bound in system.bounds:
        gap = times[bound.after] - times[bound.before]
        solver.Add(gap >= bound.low)
        if isinstance(bound.cause, SkewBound) or bound.low == bound.high:
            solver.Add(gap <= bound.high)
        else:
            extras[bound.cause] = extra = solver.NumVar(0, infinity, "")
            solver.Add(gap - extra <= bound.high)
    solver.Minimize(solver.Sum(list(extras.values())))
    if solver.Solve() != pywraplp.Solver.OPTIMAL:
        raise AssertionError("a system without slow loops can always be balanced")
    return {edge: missing for edge, extra in extras.items() if (missing := round(extra.solution_value()))}


def _result(system: TimingSystem, times: list[int], latest: int) -> Retiming:
    nodes = system.netlist.nodes
    found: dict[Pin, int] = {}
    for pin, index in system.variables.items():
        node = nodes[pin.node]
        found[Pin(pin.node, node.config.output) if isinstance(node, PeNode) else pin] = times[index]
    delays: dict[Pin, int] = {}
    for bound in system.bounds:
        edge = bound.cause
        if isinstance(edge, Edge):
            if isinstance(nodes[edge.source.node], PeNode):
                found[edge.source] = times[bound.before]
            if not isinstance(nodes[edge.sink.node], StreamOut):
                delays[edge.sink] = times[bound.after] - times[bound.before] - bound.low
    return Retiming(found, delays, latest)
