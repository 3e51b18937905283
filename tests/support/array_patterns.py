"""Configurations of the array with hand-made routes, and random ones, for the tests of the hardware."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field

import networkx

from hw.fabric.config import ArrayConfig, CoreConfig, IoConfig, TileConfig
from hw.fabric.routing import (
    CoreInput,
    CoreOutput,
    Network,
    Node,
    Side,
    Source,
    StreamSink,
    StreamSource,
    TrackSource,
    Wire,
    connection_sources,
    core_inputs,
    routing_graph,
    switch_sources,
)
from hw.fabric.spec import FabricSpec, TileKind
from hw.ops import OPERATIONS
from hw.pe.config import PeConfig


@dataclass
class Tile:
    """A `TileConfig` under construction."""

    switches: dict[tuple[Network, Side, int], Source] = field(default_factory=dict)
    connections: dict[str, TrackSource] = field(default_factory=dict)
    delays: dict[str, int] = field(default_factory=dict)
    core: CoreConfig | None = None


class Routes:
    """Collects cores and routes; every connection takes wires that are still free."""

    def __init__(self, spec: FabricSpec):
        self.spec = spec
        self.graph = routing_graph(spec)
        self.free = self.graph.networkx.copy()
        self.tiles: dict[tuple[int, int], Tile] = {}
        self.ios: dict[int, IoConfig] = {}

    def tile(self, row: int, column: int) -> Tile:
        return self.tiles.setdefault((row, column), Tile())

    def connect(self, source: Node, sink: Node, via: Node | None = None, delay: int = 0) -> int:
        """Route from source to sink (through the wire `via`); the result is the number of hops."""
        path = self._path(source, sink, via)
        for before, after in itertools.pairwise(path):
            self._select(before, after)
        self.free.remove_nodes_from(node for node in path if isinstance(node, Wire))
        if isinstance(sink, CoreInput) and delay:
            self.tile(sink.row, sink.column).delays[sink.port] = delay
        return sum(isinstance(node, Wire) for node in path)

    def _path(self, source: Node, sink: Node, via: Node | None) -> list[Node]:
        if via is None:
            return networkx.shortest_path(self.free, source, sink)
        first = networkx.shortest_path(self.free, source, via)
        rest = self.free.copy()
        rest.remove_nodes_from(first[:-1])
        return [*first, *networkx.shortest_path(rest, via, sink)[1:]]

    def _select(self, before: Node, after: Node) -> None:
        choice = self.graph.source(before, after)
        if isinstance(after, Wire):
            self.tile(after.row, after.column).switches[after.network, after.side, after.track] = choice
        elif isinstance(after, CoreInput):
            assert isinstance(choice, TrackSource)
            self.tile(after.row, after.column).connections[after.port] = choice
        elif isinstance(after, StreamSink):
            assert isinstance(choice, TrackSource)
            self.ios[after.column] = IoConfig(choice.track)

    def config(self) -> ArrayConfig:
        tiles = {
            place: TileConfig(tile.switches, tile.connections, tile.delays, tile.core)
            for place, tile in self.tiles.items()
        }
        return ArrayConfig(tiles, self.ios)


def random_tile(rng: random.Random, spec: FabricSpec, kind: TileKind, share: float = 0.8) -> TileConfig:
    """Any configuration of a tile, with about `share` of everything in use; memories are off."""
    switches = {
        (network, side, track): rng.choice(switch_sources(spec, kind, network, side, track))
        for network in Network
        for side in Side
        for track in range(spec.tracks)
        if rng.random() < share
    }
    connections: dict[str, TrackSource] = {}
    delays: dict[str, int] = {}
    for network in Network:
        for port in core_inputs(spec, kind, network):
            if rng.random() < share:
                connections[port] = rng.choice(connection_sources(spec, network))
                delay = rng.choice([0, 0, 1, rng.randrange(spec.delay_depth), spec.delay_depth - 1])
                delays |= {port: delay} if delay else {}
    core = random_pe(rng, spec) if kind is TileKind.PE and rng.random() < share else None
    return TileConfig(switches, connections, delays, core)


def random_pe(rng: random.Random, spec: FabricSpec) -> PeConfig:
    """Any operation with any operands constant."""
    words = [rng.randrange(1 << spec.width) if rng.random() < 0.2 else None for _ in range(3)]
    bits = [rng.randrange(2) if rng.random() < 0.2 else None for _ in range(3)]
    return PeConfig(
        rng.choice(sorted(OPERATIONS)),
        rng.random() < 0.5,
        (words[0], words[1], words[2]),
        (bits[0], bits[1], bits[2]),
        rng.randrange(256),
    )


def random_routes(rng: random.Random, spec: FabricSpec, elements: int) -> ArrayConfig:
    """Processing elements at random places, each fed by streams and elements before it, the last ones seen outside."""
    routes = Routes(spec)
    sources: list[Node] = [StreamSource(column) for column in range(spec.columns)]
    bits: list[Node] = []
    for row, column in rng.sample(spec.tiles(TileKind.PE), elements):
        core = routes.tile(row, column).core = random_pe(rng, spec)
        for port in core.inputs:
            choices = bits if port.startswith("bit") else sources
            if choices:
                # Recent results are used more, so that most elements have an effect on what is seen.
                source = rng.choice(choices[-3:] if rng.random() < 0.7 else choices)
                routes.connect(source, CoreInput(row, column, port), delay=rng.choice([0, 1, 5, spec.delay_depth - 1]))
        produced = CoreOutput(row, column, core.output)
        (bits if core.output == "bit0" else sources).append(produced)
    for column in range(spec.columns):
        routes.connect(sources[-1 - column], StreamSink(column))
    return routes.config()


def random_array(rng: random.Random, spec: FabricSpec) -> ArrayConfig:
    """Any configuration of the tiles and edge stages."""
    tiles = {place: random_tile(rng, spec, spec.tile_kind(*place)) for place in spec.tiles()}
    return ArrayConfig(tiles, {column: IoConfig(rng.randrange(spec.tracks)) for column in range(spec.columns)})
