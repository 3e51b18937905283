"""The routing graph: what it connects, and that it is what the multiplexers say."""

from __future__ import annotations

import networkx
import pytest

from hw.fabric.routing import (
    CoreInput,
    CoreOutput,
    CoreSource,
    Network,
    Side,
    StreamSink,
    StreamSource,
    TrackSource,
    Wire,
    connection_sources,
    core_inputs,
    core_outputs,
    routing_graph,
    switch_sources,
)
from hw.fabric.spec import FabricError, FabricSpec, TileKind

SPEC = FabricSpec.parse("4x4")


@pytest.mark.parametrize("tracks", [2, 3, 5, 8])
@pytest.mark.parametrize("network", Network)
def test_between_two_sides_every_track_goes_to_one_track(tracks: int, network: Network) -> None:
    spec = FabricSpec(4, 4, tracks=tracks)
    for outgoing in Side:
        sources = [switch_sources(spec, TileKind.PE, network, outgoing, track) for track in range(tracks)]
        for incoming in set(Side) - {outgoing}:
            used = [source.track for row in sources for source in row
                    if isinstance(source, TrackSource) and source.side is incoming]  # fmt: skip
            assert sorted(used) == list(range(tracks))
        assert not any(isinstance(s, TrackSource) and s.side is outgoing for row in sources for s in row)


def test_turns_are_those_of_the_published_switch_box() -> None:
    links = {
        (Side.W, Side.E): lambda t: t,
        (Side.N, Side.S): lambda t: t,
        (Side.W, Side.N): lambda t: -t % 5,
        (Side.N, Side.E): lambda t: (t + 1) % 5,
        (Side.S, Side.E): lambda t: (5 - t - 2) % 5,
        (Side.W, Side.S): lambda t: (t - 1) % 5,
    }
    for (first, second), link in links.items():
        for track in range(5):
            there = switch_sources(SPEC, TileKind.PE, "word", second, link(track))
            back = switch_sources(SPEC, TileKind.PE, "word", first, track)
            assert TrackSource(first, track) in there
            assert TrackSource(second, link(track)) in back


def test_core_outputs_reach_every_track_and_inputs_take_every_track() -> None:
    for kind in TileKind:
        for network in Network:
            for side in Side:
                for track in range(5):
                    sources = switch_sources(SPEC, kind, network, side, track)
                    wanted = [CoreSource(port) for port in core_outputs(SPEC, kind, network)]
                    assert list(sources[3:]) == wanted
    assert len(connection_sources(SPEC, "word")) == 20


@pytest.mark.parametrize("size", ["2x3", "4x4", "8x8"])
@pytest.mark.parametrize("network", Network)
def test_every_output_reaches_every_input(size: str, network: Network) -> None:
    spec = FabricSpec.parse(size)
    graph = routing_graph(spec).networkx
    outputs = [CoreOutput(*p, port) for p in spec.tiles() for port in core_outputs(spec, spec.tile_kind(*p), network)]
    inputs = {CoreInput(*p, port) for p in spec.tiles() for port in core_inputs(spec, spec.tile_kind(*p), network)}
    if network is Network.WORD:
        outputs += [StreamSource(column) for column in range(spec.columns)]
        inputs |= {StreamSink(column) for column in range(spec.columns)}
    for output in outputs:
        assert inputs <= networkx.descendants(graph, output)


def test_every_wire_reaches_every_wire_of_its_network() -> None:
    graph = routing_graph(SPEC).networkx
    for network in Network:
        wires = {node for node in graph if isinstance(node, Wire) and node.network is network}
        inner = {wire for wire in wires if not (wire.row == 0 and wire.side is Side.N)}
        assert networkx.is_strongly_connected(graph.subgraph(inner))


def test_networks_do_not_mix() -> None:
    for before, after in routing_graph(SPEC).networkx.edges:
        for node, other in ((before, after), (after, before)):
            if isinstance(node, Wire) and isinstance(other, Wire):
                assert node.network is other.network
            if isinstance(node, Wire) and not isinstance(other, Wire):
                words = isinstance(other, StreamSource | StreamSink) or not other.port.startswith("bit")
                assert words == (node.network is Network.WORD)


def test_predecessors_are_successors_backwards() -> None:
    graph = routing_graph(SPEC)
    forward = {(a, b) for a, after in enumerate(graph.successors) for b in after}
    backward = {(a, b) for b, before in enumerate(graph.predecessors) for a in before}
    assert forward == backward
    assert all(graph.nodes[graph.index[node]] == node for node in graph.nodes)


def test_every_edge_has_a_source_that_its_multiplexer_offers() -> None:
    graph = routing_graph(SPEC)
    for before, after in graph.networkx.edges:
        source = graph.source(before, after)
        if isinstance(after, Wire):
            kind = SPEC.tile_kind(after.row, after.column)
            assert source in switch_sources(SPEC, kind, after.network, after.side, after.track)
        if isinstance(after, CoreInput):
            network = Network.BIT if after.port.startswith("bit") else Network.WORD
            assert source in connection_sources(SPEC, network)


def test_streams_are_at_the_north_edge() -> None:
    graph = routing_graph(SPEC)
    entered = [graph.nodes[n] for n in graph.successors[graph.node(StreamSource(2))]]
    assert {(node.row, node.column) for node in entered} == {(0, 2)}
    left = [graph.nodes[n] for n in graph.predecessors[graph.node(StreamSink(2))]]
    assert left == [Wire(0, 2, Network.WORD, Side.N, track) for track in range(5)]
    assert graph.source(StreamSource(2), CoreInput(0, 2, "word1")) == TrackSource(Side.N, 0)


def test_wires_over_the_edge_do_not_exist() -> None:
    with pytest.raises(FabricError) as caught:
        routing_graph(SPEC).node(Wire(3, 1, Network.WORD, Side.S, 2))
    assert str(caught.value) == "the 4x4 array has no word track 2 from tile (3, 1) to S"


def test_what_is_not_connected_has_no_source() -> None:
    with pytest.raises(FabricError) as caught:
        routing_graph(SPEC).source(CoreOutput(0, 0, "word0"), CoreInput(0, 1, "word2"))
    assert str(caught.value) == "output word0 of tile (0, 0) does not lead to input word2 of tile (0, 1)"
