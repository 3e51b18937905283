"""The interconnect as data: from here come both the multiplexers of the hardware and the graph that is routed on.

Each of the two networks, word and bit, has `tracks` wires per side and direction between neighbouring tiles. Every
outgoing track of a tile is a register behind a multiplexer (the switch box): it takes one incoming track of each of
the three other sides, by a Wilton-like permutation that changes the track at a turn, or an output of the tile's
core. Every input of a core takes any incoming track of its network (the connection box). Liu 2023, section 6.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING

from hw.fabric.spec import FabricError, FabricSpec, TileKind

if TYPE_CHECKING:
    import networkx

__all__ = [
    "CoreInput",
    "CoreOutput",
    "CoreSource",
    "Network",
    "Node",
    "RoutingGraph",
    "Side",
    "Source",
    "StreamSink",
    "StreamSource",
    "TrackSource",
    "Wire",
    "connection_sources",
    "core_inputs",
    "core_outputs",
    "neighbour",
    "routing_graph",
    "switch_sources",
]


class Network(StrEnum):
    """Which of the two interconnects: data words or single bits. Equal to the strings "word" and "bit"."""

    WORD = "word"
    BIT = "bit"

class Side(IntEnum):
    """A side of a tile, in configuration order."""

    N = 0
    E = 1
    S = 2
    W = 3

    @property
    def opposite(self) -> Side:
        """The side across the tile, which is also the neighbour's side that touches this one."""
        return Side((self + 2) % 4)


_STEP = {Side.N: (-1, 0), Side.E: (0, 1), Side.S: (1, 0), Side.W: (0, -1)}


@dataclass(frozen=True, order=True)
class TrackSource:
    """An incoming track of the tile: the word that the neighbour on `side` sends on `track`."""

    side: Side
    track: int


@dataclass(frozen=True, order=True)
class CoreSource:
    """An output of the tile's core."""

    port: str


Source = TrackSource | CoreSource


@dataclass(frozen=True, order=True)
class Wire:
    """An outgoing track of the tile at (row, column): a register, so one cycle and one hop. Capacity: one net."""

    row: int
    column: int
    network: Network
    side: Side
    track: int

    def __str__(self) -> str:
        return f"{self.network} track {self.track} from tile ({self.row}, {self.column}) to {self.side.name}"


@dataclass(frozen=True, order=True)
class CoreOutput:
    """Output `port` of the core of the tile at (row, column)."""

    row: int
    column: int
    port: str

    def __str__(self) -> str:
        return f"output {self.port} of tile ({self.row}, {self.column})"


@dataclass(frozen=True, order=True)
class CoreInput:
    """Input `port` of the core of the tile at (row, column). Capacity: one net."""

    row: int
    column: int
    port: str

    def __str__(self) -> str:
        return f"input {self.port} of tile ({self.row}, {self.column})"


@dataclass(frozen=True, order=True)
class StreamSource:
    """The global buffer's word for `column`: all word tracks that enter row 0 from the north carry it."""

    column: int

    def __str__(self) -> str:
        return f"stream into column {self.column}"


@dataclass(frozen=True, order=True)
class StreamSink:
    """The global buffer's input at `column`: it takes one word track that leaves row 0 to the north."""

    column: int

    def __str__(self) -> str:
        return f"stream out of column {self.column}"


Node = Wire | CoreOutput | CoreInput | StreamSource | StreamSink


def core_inputs(spec: FabricSpec, kind: TileKind, network: Network | str) -> tuple[str, ...]:
    """Names of the core inputs of a tile kind on one network, in configuration order."""
    if kind is TileKind.PE:
        return tuple(f"{Network(network)}{index}" for index in range(3))
    addressed = spec.mem.kind == "dual-port-pe"
    if Network(network) is Network.BIT:
        return ("write_enable",) if addressed else ()
    return (
        *(f"in{index}" for index in range(spec.mem.inputs)),
        *(f"chain{index}" for index in range(spec.mem.outputs)),
        *(("write_address", "read_address") if addressed else ()),
    )


def core_outputs(spec: FabricSpec, kind: TileKind, network: Network | str) -> tuple[str, ...]:
    """Names of the core outputs of a tile kind on one network, in configuration order."""
    if kind is TileKind.PE:
        return (f"{Network(network)}0",)
    if Network(network) is Network.BIT:
        return ("started",) if spec.mem.kind == "dual-port-pe" else ()
    return tuple(f"out{index}" for index in range(spec.mem.outputs))


def _turn(tracks: int, incoming: Side, track: int, outgoing: Side) -> int:
    """Track on which a signal leaves through `outgoing` that came in from `incoming` on `track`."""
    if outgoing is incoming.opposite:
        return track
    turned = {
        (Side.W, Side.N): -track,
        (Side.N, Side.W): -track,
        (Side.N, Side.E): track + 1,
        (Side.E, Side.N): track - 1,
        (Side.S, Side.E): tracks - track - 2,
        (Side.E, Side.S): tracks - track - 2,
        (Side.W, Side.S): track - 1,
        (Side.S, Side.W): track + 1,
    }
    return turned[incoming, outgoing] % tracks


@cache
def switch_sources(
    spec: FabricSpec, kind: TileKind, network: Network | str, side: Side, track: int
) -> tuple[Source, ...]:
    """What an outgoing track of a tile can carry; the index of a source is its number in the configuration."""
    straight_and_turns: list[Source] = []
    for incoming in Side:
        if incoming is not side:
            # The permutation is its own inverse: the track that leads to (side, track) is where that one leads to.
            straight_and_turns.append(TrackSource(incoming, _turn(spec.tracks, side, track, incoming)))
    return (*straight_and_turns, *(CoreSource(port) for port in core_outputs(spec, kind, network)))


@cache
def connection_sources(spec: FabricSpec, network: Network | str) -> tuple[TrackSource, ...]:
    """What an input of a core can take; the index of a source is its number in the configuration."""
    Network(network)
    return tuple(TrackSource(side, track) for side in Side for track in range(spec.tracks))


def neighbour(spec: FabricSpec, row: int, column: int, side: Side) -> tuple[int, int] | None:
    """Place of the tile that touches a tile on `side`, None at the edge of the array."""
    down, right = _STEP[side]
    place = row + down, column + right
    return place if 0 <= place[0] < spec.rows and 0 <= place[1] < spec.columns else None


@dataclass(frozen=True)
class RoutingGraph:
    """The array as a directed graph. Node i is `nodes[i]`; `index` is the inverse; lists hold node numbers.

    A path from a `CoreOutput` or `StreamSource` to a `CoreInput` or `StreamSink` passes through wires only; the
    number of its wires is the number of its cycles. Every node but the sources carries at most one net.
    """

    spec: FabricSpec
    nodes: tuple[Node, ...]
    index: dict[Node, int]
    successors: tuple[tuple[int, ...], ...]
    predecessors: tuple[tuple[int, ...], ...]

    def node(self, node: Node) -> int:
        """Number of a node. Raises `FabricError` if the array does not have it."""
        try:
            return self.index[node]
        except KeyError:
            raise FabricError(f"the {self.spec} array has no {node}") from None

    def source(self, before: Node, after: Node) -> Source:
        """What the switch or connection box of `after` must select to take the signal of `before`.

        Where a stream enters, all tracks from the north carry it; the first one that `after` can take is chosen.
        Raises `FabricError` if the two are not connected.
        """
        if self.node(after) in self.successors[self.node(before)]:
            if isinstance(before, CoreOutput):
                return CoreSource(before.port)
            if isinstance(before, Wire):
                return TrackSource(before.side.opposite, before.track)
            return next(source for source in _inputs_of(self.spec, after) if _from_north(source))
        raise FabricError(f"{before} does not lead to {after}")

    @cached_property
    def networkx(self) -> networkx.DiGraph:
        """The same graph as a networkx graph whose nodes are the node objects."""
        import networkx

        graph = networkx.DiGraph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(
            (node, self.nodes[after])
            for node, successors in zip(self.nodes, self.successors, strict=True)
            for after in successors
        )
        return graph


def _from_north(source: Source) -> bool:
    return isinstance(source, TrackSource) and source.side is Side.N


def _network_of(spec: FabricSpec, sink: CoreInput) -> Network:
    kind = spec.tile_kind(sink.row, sink.column)
    return next(network for network in Network if sink.port in core_inputs(spec, kind, network))


def _inputs_of(spec: FabricSpec, node: Node) -> tuple[Source, ...]:
    """What the multiplexer in front of a node selects from."""
    if isinstance(node, Wire):
        kind = spec.tile_kind(node.row, node.column)
        return switch_sources(spec, kind, node.network, node.side, node.track)
    if isinstance(node, CoreInput):
        return connection_sources(spec, _network_of(spec, node))
    if isinstance(node, StreamSink):
        return tuple(TrackSource(Side.S, track) for track in range(spec.tracks))
    return ()


def _place(node: Node) -> tuple[int, int]:
    """Place of a node's multiplexer; a stream's is north of row 0."""
    return (-1, node.column) if isinstance(node, StreamSource | StreamSink) else (node.row, node.column)


def _network(spec: FabricSpec, node: Node) -> Network:
    if isinstance(node, Wire):
        return node.network
    return _network_of(spec, node) if isinstance(node, CoreInput) else Network.WORD


def _driver(spec: FabricSpec, node: Node, source: Source) -> Node | None:
    """The node whose signal arrives at `node` as `source`; None beyond the edge of the array."""
    row, column = _place(node)
    if isinstance(source, CoreSource):
        return CoreOutput(row, column, source.port)
    network = _network(spec, node)
    down, right = _STEP[source.side]
    row, column = row + down, column + right
    if row == -1 and 0 <= column < spec.columns and network is Network.WORD:
        return StreamSource(column)
    if not (0 <= row < spec.rows and 0 <= column < spec.columns):
        return None
    return Wire(row, column, network, source.side.opposite, source.track)


def _leads_somewhere(spec: FabricSpec, wire: Wire) -> bool:
    """Whether a tile or the global buffer is where the wire goes."""
    if neighbour(spec, wire.row, wire.column, wire.side) is not None:
        return True
    return wire.side is Side.N and wire.network is Network.WORD


def _tile_nodes(spec: FabricSpec, row: int, column: int) -> list[Node]:
    kind = spec.tile_kind(row, column)
    nodes: list[Node] = []
    for network in Network:
        nodes += [CoreOutput(row, column, port) for port in core_outputs(spec, kind, network)]
        nodes += [CoreInput(row, column, port) for port in core_inputs(spec, kind, network)]
        wires = [Wire(row, column, network, side, track) for side in Side for track in range(spec.tracks)]
        nodes += [wire for wire in wires if _leads_somewhere(spec, wire)]
    return nodes


@lru_cache(maxsize=8)
def routing_graph(spec: FabricSpec) -> RoutingGraph:
    """The routing graph of an array: every signal that can carry a net, and which leads to which."""
    nodes: list[Node] = []
    for column in range(spec.columns):
        nodes += [StreamSource(column), StreamSink(column)]
    for row, column in spec.tiles():
        nodes += _tile_nodes(spec, row, column)
    index = {node: number for number, node in enumerate(nodes)}
    before: list[tuple[int, ...]] = []
    after: list[list[int]] = [[] for _ in nodes]
    for number, node in enumerate(nodes):
        drivers = (_driver(spec, node, source) for source in _inputs_of(spec, node))
        # A stream arrives on several tracks: it is one predecessor all the same.
        before.append(tuple(dict.fromkeys(index[driver] for driver in drivers if driver is not None)))
        for driver in before[-1]:
            after[driver].append(number)
    return RoutingGraph(spec, tuple(nodes), index, tuple(map(tuple, after)), tuple(before))
