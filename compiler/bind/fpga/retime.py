"""Physical times of all nodes: the least latency first, then the fewest bits in delays.

Exact: the constraints are difference constraints, so the linear program has an integer optimum (Liu 2023, sections 4.2
and 5.7). A node's delayed values are one chain, as long as its latest use needs; that is what the program minimises.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ortools.linear_solver import pywraplp

from compiler.bind.fpga.dataflow_graph import Net, Node
from compiler.bind.fpga.errors import SlowRecurrence
from compiler.sched.static.chaining import Path

__all__ = ["retime", "wait"]

_NEVER = -(1 << 30)

_OUTER, _INNER = 1000, 1250
"""Weight of a bit of a statement's result, and of one behind an operation inside a statement or behind a port, against
that of a cycle of any time: of two equal solutions the one that stores what the program calls a value, where it is
produced; and of those the earliest."""


class _Need(NamedTuple):
    """A node comes `cycles` after that of number `source` at least: what it takes less the `distance` in the schedule.
    `chained`: it is at the end of a path that needs a register."""

    source: int
    cycles: int
    distance: int
    chained: bool = False


def wait(net: Net, times: Sequence[int], number: int, place: int) -> int:
    """Cycles from the value of a node's operand number `place` to its use."""
    use = net.nodes[number].uses[place]
    return times[number] - net.nodes[number].delay(place) + use.distance - times[use.node]


def retime(net: Net, first: Mapping[str, int], last: Mapping[str, int], paths: Collection[Path] = ()) -> list[int]:
    """For each node the cycle of the value for logical cycle 0.

    `first`, `last`: first and last logical cycle of every statement. No event of a walk comes before cycle 0. `paths`
    get a register each. Raises `SlowRecurrence`.
    """
    earliest = _earliest(net, first, paths)
    end = max(earliest[number] + last[net.nodes[number].statement] for number in net.ends)
    return _cheapest(net, earliest, end, last, paths)


def _least(net: Net, node: Node, first: Mapping[str, int]) -> int:
    """The least time of a node by itself: the events of its walk are in cycles from 0 on, and what is computed from
    constants is there after the latency of the operation."""
    if node.kind == "constant" or (node.kind == "operator" and not all(map(net.is_constant, node.uses))):
        return _NEVER
    return node.latency - first[node.statement]


def _earliest(net: Net, first: Mapping[str, int], paths: Collection[Path]) -> list[int]:
    """The least solution, by relaxation: a pass over all nodes, one more for every node that has to be later than ones
    behind it."""
    times = [_least(net, node, first) for node in net.nodes]
    needs = _needs(net, paths)
    behind = sum(any(need.source > number for need in needed) for number, needed in enumerate(needs))
    causes: dict[int, int] = {}
    moved: list[int] = []
    for _ in range(2 + behind):
        moved = [number for number, needed in enumerate(needs) if _relax(needed, number, times, causes)]
        if not moved:
            return times
    raise _slow(net, needs, _recurrence(net, moved[-1], causes))


def _slow(net: Net, needs: Sequence[Sequence[_Need]], nodes: tuple[int, ...]) -> SlowRecurrence:
    """The error of a recurrence: it is called after the statement of its first merge, or node."""
    merges = [number for number in nodes if net.nodes[number].kind == "merge"]
    around = [max((need for need in needs[number] if need.source == cause), key=lambda need: need.cycles)
              for number, cause in pairwise((*nodes, nodes[0]))]
    latency = 0 if any(need.chained for need in around) else sum(need.cycles + need.distance for need in around)
    return SlowRecurrence(net.nodes[min(merges or nodes)].statement, nodes=nodes, latency=latency,
                          excess=sum(need.cycles for need in around))


def _recurrence(net: Net, moved: int, causes: Mapping[int, int]) -> tuple[int, ...]:
    """The nodes of the recurrence that keeps moving `moved`, each before the one that it waits for."""
    for _ in net.nodes:  # from anywhere behind the loop into it
        moved = causes.get(moved, moved)
    loop = [moved]
    while causes.get(loop[-1], moved) != moved:
        loop.append(causes[loop[-1]])
    return tuple(loop)


def _needs(net: Net, paths: Collection[Path]) -> list[list[_Need]]:
    """For each node what it comes after."""
    needs = [[_Need(use.node, node.delay(place) - use.distance, use.distance) for place, use in enumerate(node.uses)
              if not net.is_constant(use)] for node in net.nodes]
    for source, sink, distance in sorted(paths):
        needs[sink].append(_Need(source, net.nodes[sink].latency - distance + 1, distance, chained=True))
    return needs


def _relax(needed: Sequence[_Need], number: int, times: list[int], causes: dict[int, int]) -> bool:
    """Move a node behind others, of which `causes` gets the last; whether that was needed."""
    time, cause = max(((times[need.source] + need.cycles, need.source) for need in needed), default=(times[number], -1))
    if time <= times[number]:
        return False
    times[number], causes[number] = time, cause
    return True


def _cheapest(net: Net, earliest: list[int], end: int, last: Mapping[str, int], paths: Collection[Path]) -> list[int]:
    """The linear program."""
    solver = pywraplp.Solver.CreateSolver("GLOP")
    solver.SetSolverSpecificParametersAsString("use_preprocessing:false")
    infinity = solver.infinity()
    latest = {number: end - last[net.nodes[number].statement] for number in net.ends}
    times = [solver.NumVar(time, latest.get(number, infinity), "") for number, time in enumerate(earliest)]
    lengths: dict[int, pywraplp.Variable] = {}
    for number, place, use in net.edges():
        delay = times[number] - net.nodes[number].delay(place) + use.distance - times[use.node]
        solver.Add(delay >= 0)
        if use.node not in lengths:
            lengths[use.node] = solver.NumVar(0, infinity, "")
        solver.Add(lengths[use.node] >= delay)
    for source, sink, distance in sorted(paths):
        solver.Add(times[sink] - net.nodes[sink].latency + distance - times[source] >= 1)
    results = set(net.results.values())
    costs = []
    for number, length in lengths.items():
        node = net.nodes[number]
        inner = node.kind in ("port", "merge") or (node.kind == "operator" and number not in results)
        costs.append(node.word.width * (_INNER if inner else _OUTER) * solver.Sum([length]))
    solver.Minimize(solver.Sum([*costs, *times]))
    if solver.Solve() != pywraplp.Solver.OPTIMAL:
        raise AssertionError("a system with a least solution has an optimum")
    found = [round(time.solution_value()) for time in times]
    if any(wait(net, found, number, place) < 0 for number, place, _ in net.edges()):
        raise AssertionError("the optimum of a difference system is integral")
    return found
