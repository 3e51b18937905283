"""Physical times of all nodes: the least latency first, then the fewest bits in delays.

Exact: the constraints are difference constraints, so the linear program has an integer optimum (Liu 2023, sections 4.2
and 5.7). A node's delayed values are one chain, as long as its latest use needs; that is what the program minimises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ortools.linear_solver import pywraplp

from compiler.bind.fpga.errors import SlowRecurrence
from compiler.bind.fpga.net import Net, Node

__all__ = ["retime", "start_time", "wait"]

_NEVER = -(1 << 30)

_OUTER, _INNER = 1000, 1250
"""Weight of a bit of a statement's result, and of one behind an operation inside a statement or behind a port, against
that of a cycle of any time: of two equal solutions the one that stores what the program calls a value, where it is
produced; and of those the earliest."""


def start_time(net: Net, times: Sequence[int], number: int) -> int:
    """Cycle in which a node's operands for logical cycle 0 are wanted."""
    return times[number] - net.nodes[number].latency


def wait(net: Net, times: Sequence[int], number: int, place: int) -> int:
    """Cycles from the value of a node's operand number `place` to its use."""
    use = net.nodes[number].uses[place]
    return start_time(net, times, number) + use.distance - times[use.node]


def retime(net: Net, first: Mapping[str, int], last: Mapping[str, int]) -> list[int]:
    """For each node the cycle of the value for logical cycle 0.

    `first`, `last`: first and last logical cycle of every statement. No event of a walk comes before cycle 0. Raises
    `SlowRecurrence`.
    """
    earliest = _earliest(net, first)
    end = max(time + last[node.statement] for time, node in zip(earliest, net.nodes, strict=True)
              if node.kind == "output")
    return _cheapest(net, earliest, end, last)


def _least(net: Net, node: Node, first: Mapping[str, int]) -> int:
    """The least time of a node by itself: the events of its walk are in cycles from 0 on, and what is computed from
    constants is there after the latency of the operation."""
    if node.kind == "constant" or (node.kind == "operator" and not all(map(net.is_constant, node.uses))):
        return _NEVER
    return node.latency - first[node.statement]


def _earliest(net: Net, first: Mapping[str, int]) -> list[int]:
    """The least solution, by relaxation: a pass over all nodes, one more for every merge that values come back to."""
    times = [_least(net, node, first) for node in net.nodes]
    moved: list[int] = []
    for _ in range(2 + sum(node.kind == "merge" for node in net.nodes)):
        moved = [number for number, node in enumerate(net.nodes) if _relax(net, node, number, times)]
        if not moved:
            return times
    late = next(net.nodes[number].statement for number in moved if net.nodes[number].kind == "merge")
    raise SlowRecurrence(late)


def _relax(net: Net, node: Node, number: int, times: list[int]) -> bool:
    """Move a node behind its operands; whether that was needed."""
    arrivals = [times[use.node] - use.distance + node.latency for use in node.uses if not net.is_constant(use)]
    before = times[number]
    times[number] = max([before, *arrivals])
    return times[number] != before


def _cheapest(net: Net, earliest: list[int], end: int, last: Mapping[str, int]) -> list[int]:
    """The linear program."""
    solver = pywraplp.Solver.CreateSolver("GLOP")
    solver.SetSolverSpecificParametersAsString("use_preprocessing:false")
    infinity = solver.infinity()
    times = []
    for time, node in zip(earliest, net.nodes, strict=True):
        latest = end - last[node.statement] if node.kind == "output" else infinity
        times.append(solver.NumVar(time, latest, ""))
    lengths: dict[int, pywraplp.Variable] = {}
    for number, _, use in net.edges():
        delay = times[number] - net.nodes[number].latency + use.distance - times[use.node]
        solver.Add(delay >= 0)
        if use.node not in lengths:
            lengths[use.node] = solver.NumVar(0, infinity, "")
        solver.Add(lengths[use.node] >= delay)
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
