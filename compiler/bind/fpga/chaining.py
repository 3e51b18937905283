"""Operators of slow recurrences without registers of their own: times come from their delays."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import networkx as nx

from compiler.bind.fpga.dataflow_graph import Net, Node, Use
from compiler.sched.static.chaining import Path, Stage, long_paths
from hw.delays import MEMORY_OUTPUT, operator_delays

__all__ = ["chain_recurrences"]

def chain_recurrences(net: Net, clock_mhz: int) -> set[Path]:
    """Take the registers from the operators of those recurrences in `net` that are too slow with them. The paths that
    need a register so that all others fit a period; none if there is no such recurrence."""
    period = operator_delays().room(clock_mhz)
    chained = [number for members in _recurrences(net) if _is_slow(net, members)
               for number in members if _delay(net, net.nodes[number]) <= period]
    for number in chained:
        node = net.nodes[number]
        if node.op == "load":
            node.latency = 1
        elif node.kind == "operator" and node.op not in ("table", "store"):
            node.latency = 0
    return long_paths(*_stages(net, set(chained)), period) if chained else set()


def _recurrences(net: Net) -> Iterator[Collection[int]]:
    """Nodes that depend on each other."""
    graph: nx.DiGraph[int] = nx.DiGraph((use.node, user) for user, _, use in net.edges())
    for members in nx.strongly_connected_components(graph):
        if len(members) > 1 or all(graph.has_edge(number, number) for number in members):
            yield sorted(members)


def _is_slow(net: Net, members: Collection[int]) -> bool:
    """Whether the latencies around some loop are more than its distance."""
    inside = set(members)
    edges = [(use.node, number, net.nodes[number].latency - use.distance)
             for number in members for use in net.nodes[number].uses if use.node in inside]
    times = dict.fromkeys(members, 0)
    for _ in range(len(inside) + 1):
        moved = False
        for source, sink, need in edges:
            if times[source] + need > times[sink]:
                times[sink], moved = times[source] + need, True
        if not moved:
            return False
    return True


def _stages(net: Net, chained: Collection[int]) -> tuple[list[Stage], list[list[tuple[int, int]]]]:
    """The net as paths see it."""
    edges: list[list[tuple[int, int]]] = [[] for _ in net.nodes]
    for user, _, use in net.edges():
        edges[use.node].append((user, use.distance))
    return [_stage(net, node, number in chained) for number, node in enumerate(net.nodes)], edges


def _stage(net: Net, node: Node, chained: bool) -> Stage:
    """Inputs, counters and memories have registers at their outputs, and so have operators with a latency, which have
    one before them, too, if it is more than a cycle. Other operators without one are wires."""
    if node.kind == "merge":
        delay = _delay(net, node)
        bits = max(1, (node.selection.size - 1).bit_length()) if node.selection else 1
        return Stage(delay, delay + operator_delays().delay("lt", bits), through=True)
    if node.kind == "output":
        return Stage(operator_delays().delay("select", node.word.width))
    if node.kind != "operator" or node.latency > 1 or node.op == "store":
        return Stage()
    if node.op == "load":
        return Stage(0.0, MEMORY_OUTPUT)
    delay = _delay(net, node) if chained or node.latency else 0.0
    return Stage(delay, 0.0 if node.latency else delay, through=not node.latency)


def _delay(net: Net, node: Node) -> float:
    """Nanoseconds through a merge or an operator."""
    if node.kind == "merge":
        return operator_delays().delay("select", node.word.width)
    if node.kind != "operator" or node.op in ("load", "store"):
        return 0.0
    constant = any(map(net.is_constant, node.uses))
    return operator_delays().delay(node.op, _width(net, node), constant=constant)


def _width(net: Net, node: Node) -> int:
    """Bits that an operation works on: one more than those of its widest operand, as far as they are declared; those
    of the operand itself if the other one is constant."""
    taken = [_bits(net, use) for use in node.uses if not net.is_constant(use)]
    declared = max((word.width for word in node.words), default=1)
    return min(declared, max(taken, default=declared) + (len(taken) > 1))


def _bits(net: Net, use: Use) -> int:
    """Bits of an operand that are not the same by a conversion."""
    node = net.nodes[use.node]
    if node.op != "cast" or net.nodes[node.uses[0].node].word.signed:
        return node.word.width
    return min(node.word.width, _bits(net, node.uses[0]))
