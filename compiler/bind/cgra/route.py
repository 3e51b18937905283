"""Routing by negotiated congestion on the registered routing graph.

Every wire is a register that carries at most one net. All nets are routed as trees by themselves at first;
nets that share a wire are torn up and rerouted at prices that grow with present and past contention, until no
wire is shared (McMurchie and Ebeling's PathFinder). Liu 2023, section 6.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import pairwise
from typing import TypeVar

from compiler.bind.cgra.netlist import Edge, Netlist, Pin, StreamIn, StreamOut
from compiler.bind.cgra.place import Placement
from compiler.bind.cgra.routing_graph import IndexedRoutingGraph, index_routing_graph
from hw.errors import SluiceError
from hw.fabric.routing import CoreInput, CoreOutput, Node, RoutingGraph, Source, StreamSink, StreamSource, Wire
from hw.fabric.spec import FabricSpec

__all__ = ["Route", "Routes", "Unroutable", "route"]

_ROUNDS = 60
_HOP = 0.5
"""Price of a hop on the way to one sink; a wire of its own costs 1 and is shared by the net's sinks."""
_PRESENT, _GROWTH, _PAST = 0.6, 1.6, 0.5
"""Price of contention: at first, its growth per round, and what each round with contention adds for good."""
_MARGIN = 4
"""Hops that a detour may be longer than asked, or than the direct way."""
_LISTED = 6
"""Nets that a message names."""

_T = TypeVar("_T")


class Unroutable(SluiceError):
    """No routes were found. `nets`: output pins whose nets still share wires, or cannot reach a sink."""

    def __init__(self, nets: tuple[Pin, ...], spec: FabricSpec):
        self.nets = nets
        listing = ", ".join(str(pin) for pin in nets[:_LISTED])
        more = f" and {len(nets) - _LISTED} more" if len(nets) > _LISTED else ""
        super().__init__(f"no free tracks on the {spec} array with {spec.tracks} tracks per side for {listing}{more}")


@dataclass(frozen=True)
class Route:
    """The way of one edge: its wires from source to sink and what the sink's connection box selects."""

    edge: Edge
    wires: tuple[Wire, ...]
    connection: Source

    @property
    def hops(self) -> int:
        """Switch-box registers on the way, each one cycle."""
        return len(self.wires)

    def __str__(self) -> str:
        way = " ".join(f"({w.row}, {w.column}){w.side.name}{w.track}" for w in self.wires)
        return f"{self.edge}: {self.hops} hops {way}".rstrip()


@dataclass(frozen=True)
class Routes:
    """Routes by sink pin, and what every switch box in use selects."""

    routes: dict[Pin, Route]
    switches: dict[Wire, Source]

    @cached_property
    def hops(self) -> dict[Pin, int]:
        """Switch-box registers on the way to each sink pin."""
        return {pin: way.hops for pin, way in self.routes.items()}

    @cached_property
    def connections(self) -> dict[Pin, Source]:
        """Track that the connection box of each sink pin selects; of an output stream, the IO connection box."""
        return {pin: way.connection for pin, way in self.routes.items()}

    @property
    def wires(self) -> int:
        """Number of wires in use."""
        return len(self.switches)

    def __str__(self) -> str:
        return "\n".join(str(self.routes[pin]) for pin in sorted(self.routes))


def route(
    netlist: Netlist, placement: Placement, spec: FabricSpec, detours: Mapping[Pin, int] | None = None
) -> Routes:
    """Short routes for all nets that share no wire.

    `detours` asks for at least so many hops to a sink pin; where there is no such way the route is a short one.
    Raises `Unroutable`.
    """
    router = _Router(netlist, placement, index_routing_graph(spec), dict(detours or {}))
    router.negotiate()
    return router.result()


@dataclass
class _Net:
    """A net: its source node and its sinks (node by pin), farthest first. `tree`: per node its parent and depth."""

    pin: Pin
    source: int
    sinks: list[tuple[Pin, int]]
    tree: dict[int, tuple[int, int]]
    taps: dict[Pin, int]
    """For each sink pin the last node before the sink."""


class _Router:
    def __init__(self, netlist: Netlist, placement: Placement, roads: IndexedRoutingGraph, detours: dict[Pin, int]):
        self.netlist, self.roads, self.detours = netlist, roads, detours
        self.graph: RoutingGraph = roads.graph
        self.edges = {edge.sink: edge for edge in netlist.edges}
        self.use = [0] * len(self.graph.nodes)
        self.past = [0.0] * len(self.graph.nodes)
        self.present = _PRESENT
        self.nets = [self._net(pin, edges, placement) for pin, edges in netlist.nets.items()]

    def _net(self, pin: Pin, edges: tuple[Edge, ...], placement: Placement) -> _Net:
        source = self.graph.node(source_node(self.netlist, pin, placement))
        sinks = [(edge.sink, self.graph.node(sink_node(self.netlist, edge.sink, placement))) for edge in edges]
        sinks.sort(key=lambda sink: (sink[0] in self.detours, -self.roads.span(source, sink[1]), sink[0]))
        return _Net(pin, source, sinks, {}, {})

    def negotiate(self) -> None:
        """Route and reroute until no wire is shared."""
        pending = sorted(self.nets, key=lambda net: -len(net.sinks))
        for _ in range(_ROUNDS):
            for net in pending:
                self._tear(net)
                self._grow(net)
            shared = {node for net in self.nets for node in net.tree if self.use[node] > 1}
            if not shared:
                return
            for node in shared:
                self.past[node] += _PAST * (self.use[node] - 1)
            self.present *= _GROWTH
            pending = [net for net in self.nets if not shared.isdisjoint(net.tree)]
        raise Unroutable(tuple(net.pin for net in pending), self.graph.spec)

    def _tear(self, net: _Net) -> None:
        for node in net.tree:
            self.use[node] -= 1
        net.tree.clear()
        net.taps.clear()

    def _grow(self, net: _Net) -> None:
        """Build the tree of a net, sink by sink."""
        net.tree[net.source] = (-1, 0)
        for pin, sink in net.sinks:
            least = self.detours.get(pin, 0)
            path = (self._detour(net, sink, least) if least else None) or self._path(net, sink)
            if path is None:
                raise Unroutable((net.pin,), self.graph.spec)
            for before, node in pairwise(path):
                net.tree[node] = (before, net.tree[before][1] + 1)
            net.taps[pin] = path[-1]
        for node in net.tree:
            self.use[node] += 1
        # A source carries its own net only, in any number of copies.
        self.use[net.source] = 0

    def _path(self, net: _Net, sink: int) -> list[int] | None:
        """Cheapest way from the tree to a wire that `sink` can take, by A* search; the first node is in the tree."""
        roads, use, past, present = self.roads, self.use, self.past, self.present
        goals, row, column = roads.entries(sink), roads.rows[sink], roads.columns[sink]
        rows, columns, follow = roads.rows, roads.columns, roads.follow
        unit = 1.0 + _HOP
        before: dict[int, int] = {}
        best = {node: _HOP * depth for node, (_, depth) in net.tree.items()}
        queue = [(g + unit * (abs(rows[n] - row) + abs(columns[n] - column)), n) for n, g in best.items()]
        queue.sort()
        done: set[int] = set()
        while queue:
            _, node = heappop(queue)
            if node in done:
                continue
            done.add(node)
            if node in goals:
                return _trace(before, node)
            cost = best[node]
            for after in follow[node]:
                if after in done:
                    continue
                price = cost + (1.0 + past[after]) * (1.0 + present * use[after]) + _HOP
                if price < best.get(after, 1e18):
                    best[after] = price
                    before[after] = node
                    span = abs(rows[after] - row) + abs(columns[after] - column)
                    heappush(queue, (price + unit * span, after))
        return None

    def _detour(self, net: _Net, sink: int, least: int) -> list[int] | None:
        """Like `_path`, of at least `least` hops from the source. States are pairs of node and hops."""
        roads, use, past, present = self.roads, self.use, self.past, self.present
        goals, limit = roads.entries(sink), max(least, roads.span(net.source, sink)) + _MARGIN
        unit = 1.0 + _HOP
        before: dict[tuple[int, int], tuple[int, int]] = {}
        queue: list[tuple[float, float, int, int]] = []
        for node, (_, depth) in net.tree.items():
            heappush(queue, (unit * max(roads.span(node, sink), least - depth), _HOP * depth, node, depth))
        done: set[tuple[int, int]] = set()
        while queue:
            _, cost, node, depth = heappop(queue)
            if (node, depth) in done:
                continue
            done.add((node, depth))
            way = _trace(before, (node, depth))
            if depth >= least and node in goals:
                return [n for n, _ in way]
            passed = {n for n, _ in way}
            for after in roads.follow[node]:
                if after in passed or after in net.tree or depth + 1 + roads.span(after, sink) > limit:
                    continue
                if (after, depth + 1) not in done:
                    price = cost + (1.0 + past[after]) * (1.0 + present * use[after]) + _HOP
                    rest = max(roads.span(after, sink), least - depth - 1)
                    # The first way to a state is kept although a later one may be cheaper: prices are nearly even.
                    before.setdefault((after, depth + 1), (node, depth))
                    heappush(queue, (price + unit * rest, price, after, depth + 1))
        return None

    def result(self) -> Routes:
        """The trees as settings of the switch and connection boxes."""
        graph, nodes = self.graph, self.graph.nodes
        switches: dict[Wire, Source] = {}
        routes: dict[Pin, Route] = {}
        for net in self.nets:
            for node, (before, _) in net.tree.items():
                wire = nodes[node]
                if isinstance(wire, Wire):
                    switches[wire] = graph.source(nodes[before], wire)
            for pin, sink in net.sinks:
                wires: list[Wire] = []
                node = net.taps[pin]
                while isinstance(wire := nodes[node], Wire):
                    wires.append(wire)
                    node = net.tree[node][0]
                connection = graph.source(nodes[net.taps[pin]], nodes[sink])
                routes[pin] = Route(self.edges[pin], tuple(reversed(wires)), connection)
        return Routes(routes, switches)


def _trace(before: dict[_T, _T], node: _T) -> list[_T]:
    path = [node]
    while node in before:
        node = before[node]
        path.append(node)
    return path[::-1]


def source_node(netlist: Netlist, pin: Pin, placement: Placement) -> Node:
    """Node of the routing graph that an output pin drives."""
    site = placement[pin.node]
    if isinstance(netlist.nodes[pin.node], StreamIn):
        return StreamSource(site.column)
    return CoreOutput(site.row, site.column, pin.port)


def sink_node(netlist: Netlist, pin: Pin, placement: Placement) -> Node:
    """Node of the routing graph that is an input pin."""
    site = placement[pin.node]
    if isinstance(netlist.nodes[pin.node], StreamOut):
        return StreamSink(site.column)
    return CoreInput(site.row, site.column, pin.port)
