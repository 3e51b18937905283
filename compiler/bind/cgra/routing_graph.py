"""The routing graph prepared for searching: adjacency of wires only, and where each signal arrives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from hw.fabric.routing import Node, RoutingGraph, Side, StreamSink, StreamSource, Wire, routing_graph
from hw.fabric.spec import FabricSpec

__all__ = ["IndexedRoutingGraph", "index_routing_graph"]

_STEP = {Side.N: (-1, 0), Side.E: (0, 1), Side.S: (1, 0), Side.W: (0, -1)}


@dataclass(frozen=True)
class IndexedRoutingGraph:
    """`rows`, `columns`: the tile at which a node's signal arrives (row -1: at the global buffer); `follow`: the
    wires that can take it."""

    graph: RoutingGraph
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    follow: tuple[tuple[int, ...], ...]

    def span(self, node: int, other: int) -> int:
        """Least number of wires between two nodes."""
        return abs(self.rows[node] - self.rows[other]) + abs(self.columns[node] - self.columns[other])

    def entries(self, sink: int) -> frozenset[int]:
        """Nodes whose signal a sink can take."""
        return frozenset(self.graph.predecessors[sink])


@lru_cache(maxsize=8)
def index_routing_graph(spec: FabricSpec) -> IndexedRoutingGraph:
    """The prepared routing graph of an array."""
    graph = routing_graph(spec)
    arrivals = [_arrival(node) for node in graph.nodes]
    is_wire = [isinstance(node, Wire) for node in graph.nodes]
    follow = tuple(tuple(after for after in successors if is_wire[after]) for successors in graph.successors)
    rows, columns = tuple(row for row, _ in arrivals), tuple(column for _, column in arrivals)
    return IndexedRoutingGraph(graph, rows, columns, follow)


def _arrival(node: Node) -> tuple[int, int]:
    if isinstance(node, Wire):
        down, right = _STEP[node.side]
        return node.row + down, node.column + right
    if isinstance(node, StreamSource):
        return 0, node.column
    if isinstance(node, StreamSink):
        return -1, node.column
    return node.row, node.column
