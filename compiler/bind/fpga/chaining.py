"""Operators of slow recurrences without registers of their own: times come from their delays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import networkx as nx

from compiler.bind.fpga.dataflow_graph import Net, Node, Use
from compiler.sched.static.chaining import Path, Stage, long_paths
from hw.dataflow.floating import float_spec, is_floating
from hw.delays import MEMORY_OUTPUT, operator_delays
from hw.float.operator import step_delays
from hw.integer import INTEGER_OPERATIONS, integer_delays
from hw.pipeline.spec import LOAD_LATENCY

__all__ = ["chain_recurrences"]


_LOADS = ((1, 0), (LOAD_LATENCY, 2), (1, 1))
"""Latency of loads in recurrences, and how many cycles on they see stores: what costs least first."""


def chain_recurrences(net: Net, clock_mhz: int) -> set[Path]:
    """Take the registers from the operators of those recurrences in `net` that are too slow with them, and let loads
    see stores that begin later than they where that is still too slow. The paths that need a register so that all
    others fit a period; none if there is no such recurrence."""
    period = operator_delays().room(clock_mhz)
    slow = [members for members in _recurrences(net) if _is_slow(net, members)]
    chained = {number for members in slow for number in members if _delay(net, net.nodes[number]) <= period}
    for number in chained:
        node = net.nodes[number]
        if node.kind == "operator" and node.op not in ("load", "store", "table"):
            node.latency = 0
    paths: set[Path] = set()
    for group in _sharing(net, slow):
        paths = _fitted(net, group, chained, period)
    return paths


def _sharing(net: Net, recurrences: Iterable[Collection[int]]) -> list[list[Collection[int]]]:
    """Recurrences in groups that have no memory in common."""
    groups: list[tuple[list[Collection[int]], set[int]]] = []
    for members in recurrences:
        used = {net.nodes[number].value for number in members if net.nodes[number].op in ("load", "store")}
        joined = [group for group in groups if group[1] & used]
        groups = [group for group in groups if group not in joined]
        groups.append(([members, *(m for group in joined for m in group[0])], used.union(*(g[1] for g in joined))))
    return [group for group, _ in groups]


def _fitted(net: Net, group: Sequence[Collection[int]], chained: Collection[int], period: float) -> set[Path]:
    """Give the loads of recurrences with memories in common the first latency with which all are fast enough."""
    inside = {number for members in group for number in members}
    nodes = [net.nodes[number] for number in inside]
    changed = {node.value for node in nodes if node.op == "store"}
    loads = [node for node in nodes if node.op == "load"]
    others = [node for node in net.nodes if node.op == "load" and node.value in changed]
    paths: set[Path] = set()
    for latency, forwarded in _LOADS if loads else _LOADS[:1]:
        for node in loads:
            node.latency = latency
        for node in others:
            node.forwarded = forwarded
        paths = long_paths(*_stages(net, chained), period)
        if not any(_is_slow(net, members, paths) for members in group):
            break
    return paths


def _recurrences(net: Net) -> Iterator[Collection[int]]:
    """Nodes that depend on each other."""
    graph: nx.DiGraph[int] = nx.DiGraph((use.node, user) for user, _, use in net.edges())
    for members in nx.strongly_connected_components(graph):
        if len(members) > 1 or all(graph.has_edge(number, number) for number in members):
            yield sorted(members)


def _is_slow(net: Net, members: Collection[int], paths: Iterable[Path] = ()) -> bool:
    """Whether the latencies around some loop are more than its distance, with registers in `paths`."""
    inside = set(members)
    edges = [(use.node, number, net.nodes[number].delay(place) - use.distance)
             for number in members for place, use in enumerate(net.nodes[number].uses) if use.node in inside]
    edges += [(source, sink, net.nodes[sink].latency - distance + 1) for source, sink, distance in paths
              if {source, sink} <= inside]
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
    if node.op == "store":  # to the selection in a load that sees it
        return Stage(operator_delays().delay("select", node.words[1].width) if _overtakes(net, node) else 0.0)
    if node.kind != "operator" or node.latency > 1:
        return Stage()
    if node.op == "load":
        return Stage(0.0, MEMORY_OUTPUT + (operator_delays().delay("select", node.word.width) if node.forwarded else 0))
    delay = _delay(net, node) if chained or node.latency else 0.0
    return Stage(delay, 0.0 if node.latency else delay, through=not node.latency)


def _overtakes(net: Net, store: Node) -> bool:
    return any(node.op == "load" and node.value == store.value and node.forwarded > 1 for node in net.nodes)


def _delay(net: Net, node: Node) -> float:
    """Nanoseconds through a merge or an operator."""
    if node.kind == "merge":
        return operator_delays().delay("select", node.word.width)
    if node.kind != "operator" or node.op in ("load", "store"):
        return 0.0
    if is_floating(node.op, (node.word, *node.words)):
        return sum(step_delays(float_spec(node.op, node.words, node.word, 0)))
    if node.op in INTEGER_OPERATIONS:
        return sum(integer_delays(node.op, tuple(net.nodes[use.node].word.shape for use in node.uses)))
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
