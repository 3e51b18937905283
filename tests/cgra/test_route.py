"""Routing: every route against the routing graph, capacity, short ways, detours, errors."""

import time
from itertools import pairwise

import pytest
from cgra_netlists import Builder, gaussian, harris, random_netlist
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.bind.cgra.netlist import Netlist, Pin
from compiler.bind.cgra.place import Placement, Site, distance, place
from compiler.bind.cgra.route import Routes, Unroutable, route, sink_node, source_node
from compiler.bind.cgra.sites import IO_ROW
from hw.fabric.routing import TrackSource, Wire, routing_graph
from hw.fabric.spec import FabricSpec

SMALL, MEDIUM, LARGE = map(FabricSpec.parse, ("4x4", "8x8", "16x32"))


def assert_legal(netlist: Netlist, placement: Placement, spec: FabricSpec, routes: Routes) -> None:
    """Every route is a path of the routing graph, every wire carries one net and has the setting of its path."""
    graph = routing_graph(spec)
    owner: dict[Wire, Pin] = {}
    for edge in netlist.edges:
        way = routes.routes[edge.sink]
        source = source_node(netlist, edge.source, placement)
        nodes = [source, *way.wires, sink_node(netlist, edge.sink, placement)]
        for before, after in pairwise(nodes):
            assert graph.node(after) in graph.successors[graph.node(before)]
            selected = routes.switches[after] if isinstance(after, Wire) else way.connection
            assert selected == graph.source(before, after)
        for wire in way.wires:
            assert owner.setdefault(wire, edge.source) == edge.source
            assert wire.network == edge.network
    assert set(owner) == set(routes.switches)
    assert routes.hops == {pin: len(way.wires) for pin, way in routes.routes.items()}


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), pes=st.integers(1, 40))
def test_random_netlists(seed, pes):
    netlist = random_netlist(seed, pes)
    placement = place(netlist, MEDIUM, seed)
    assert_legal(netlist, placement, MEDIUM, route(netlist, placement, MEDIUM))


def line(source: Site, sink: Site) -> tuple[Netlist, Placement]:
    b = Builder()
    b.pe("abs", (b.pe("abs", (b.stream_in("i"), 0)), 0))
    netlist = b.build()
    names = list(netlist.nodes)
    return netlist, Placement({"i": Site(IO_ROW, 0), names[1]: source, names[2]: sink})


@pytest.mark.parametrize("sink", [(0, 1), (3, 0), (7, 6), (2, 4), (0, 0)])
def test_a_net_alone_takes_the_shortest_way(sink):
    netlist, placement = line(Site(1, 0), Site(*sink))
    routes = route(netlist, placement, MEDIUM)
    for edge in netlist.edges:
        least = distance(netlist, edge, placement[edge.source.node], placement[edge.sink.node])
        assert routes.hops[edge.sink] == least
    assert_legal(netlist, placement, MEDIUM, routes)


def test_a_stream_reaches_row_0_without_a_hop():
    netlist, placement = line(Site(0, 0), Site(0, 1))
    routes = route(netlist, placement, SMALL)
    first = netlist.edges[0].sink
    assert routes.hops[first] == 0 and routes.switches.keys() == set(routes.routes[netlist.edges[1].sink].wires)
    assert isinstance(routes.connections[first], TrackSource) and routes.connections[first].side.name == "N"


def test_an_output_leaves_through_the_north():
    b = Builder()
    b.stream_out("o", b.pe("abs", (b.stream_in("i"), 0)))
    placement = Placement({"i": Site(IO_ROW, 0), "abs1": Site(2, 1), "o": Site(IO_ROW, 1)})
    routes = route(b.build(), placement, SMALL)
    last = routes.routes[Pin("o", "in")].wires[-1]
    assert routes.hops[Pin("o", "in")] == 3 and (last.row, last.column, last.side.name) == (0, 1, "N")


@pytest.mark.parametrize("least", range(1, 12))
def test_detours(least):
    netlist, placement = line(Site(3, 3 - 1), Site(3, 4))
    pin = netlist.edges[1].sink
    routes = route(netlist, placement, MEDIUM, {pin: least})
    assert routes.hops[pin] == max(2, least + least % 2)
    assert_legal(netlist, placement, MEDIUM, routes)


def test_feedback_to_the_own_tile():
    b = Builder()
    b.stream_out("o", b.pe("add", (b.stream_in("i"), 0), (Pin("add1", "word0"), 9)))
    netlist = b.build()
    placement = place(netlist, SMALL)
    routes = route(netlist, placement, SMALL)
    assert routes.hops[Pin("add1", "word1")] == 4
    assert_legal(netlist, placement, SMALL, routes)


def test_same_arguments_same_routes():
    placement = place(harris(), LARGE)
    first, second = (route(harris(), placement, LARGE) for _ in range(2))
    assert first == second and str(first) == str(second)


def test_sinks_of_a_net_share_wires():
    placement = place(gaussian(), SMALL)
    routes = route(gaussian(), placement, SMALL)
    assert routes.wires < sum(routes.hops.values())


def test_printing():
    netlist, placement = line(Site(0, 0), Site(0, 1))
    assert "i.out -> abs1.word0 (word, distance 0): 0 hops" in str(route(netlist, placement, SMALL))


def test_unroutable():
    """Seven words into one column of two tracks with three units between them and the rest."""
    spec = FabricSpec(2, 8, tracks=2, mem_period=8)
    b = Builder()
    sources = [b.stream_in(f"i{k}") for k in range(6)]
    pairs = [(b.pe("add", (a, 0), (c, 0)), 0) for a, c in zip(sources[:3], sources[3:], strict=True)]
    b.stream_out("o", b.reduce("add", pairs))
    netlist = b.build()
    sites = {f"i{k}": Site(IO_ROW, k) for k in range(6)}
    spots = iter([(0, 7 - 1), (1, 6), (1, 5), (0, 5), (1, 4)])
    sites |= {name: Site(*next(spots)) for name in netlist.nodes if name.startswith("add")}
    sites["o"] = Site(IO_ROW, 7)
    with pytest.raises(Unroutable) as error:
        route(netlist, Placement(sites), spec)
    assert error.value.nets
    listing = ", ".join(map(str, error.value.nets[:6]))
    assert str(error.value) == f"no free tracks on the 2x8 array with 2 tracks per side for {listing}"


def test_contention_is_negotiated():
    """A placement at random needs far more wires than an annealed one, and is still routed."""
    netlist = gaussian()
    placement = Placement(dict(zip(netlist.nodes, scattered(), strict=True)))
    assert_legal(netlist, placement, SMALL, route(netlist, placement, SMALL))


def scattered() -> list[Site]:
    """Sites for the units of gaussian in their order: stream, memory, PEs, stream."""
    pes = [(3, 2), (0, 0), (3, 0), (0, 2), (2, 1), (1, 2), (2, 0), (0, 1), (3, 1), (1, 0)]
    return [Site(IO_ROW, 3), Site(3, 3), *(Site(*p) for p in pes), Site(IO_ROW, 0)]


@pytest.mark.parametrize(("pes", "seconds"), [(12, 2), (100, 8)])
def test_time(pes, seconds):
    netlist = random_netlist(1, pes)
    placement = place(netlist, LARGE)
    routing_graph(LARGE)
    start = time.process_time()
    route(netlist, placement, LARGE)
    assert time.process_time() - start < seconds
