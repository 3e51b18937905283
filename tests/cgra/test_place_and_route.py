"""The whole back end: random netlists close, the check catches what is wrong, an emulation agrees with the netlist."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from array_emulator import ArrayEmulator, expected
from cgra_netlists import Builder, gaussian, harris, random_netlist
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.bind.cgra.check import PhysicalError, check
from compiler.bind.cgra.netlist import MemNode, PeNode, Pin, StreamIn, StreamOut
from compiler.bind.cgra.place import ArrayTooSmall, Placement, Site
from compiler.bind.cgra.place_and_route import Physical, implement
from compiler.bind.cgra.retime import Retiming
from compiler.bind.cgra.route import Routes, Unroutable
from compiler.bind.cgra.timing import RecurrenceViolation
from hw.fabric.routing import CoreSource, Side, TrackSource, Wire, switch_sources
from hw.fabric.spec import FabricSpec

SMALL, MEDIUM, LARGE = map(FabricSpec.parse, ("4x4", "8x8", "16x32"))


@pytest.fixture(scope="module")
def small() -> Physical:
    return implement(gaussian(newest_first=False), SMALL)


@pytest.fixture(scope="module")
def large() -> Physical:
    return implement(harris(), LARGE)


def assert_emulates(physical: Physical, spec: FabricSpec, cycles: int = 600, words: int = 6) -> None:
    emulator = ArrayEmulator(physical, spec)
    for _ in range(cycles):
        emulator.step()
    for name, node in physical.netlist.nodes.items():
        if isinstance(node, StreamOut):
            last = cycles - 1 - physical.retiming.times[Pin(name, "in")]
            for logical in range(last - words, last):
                assert emulator.collected[name, logical] == expected(physical, name, logical)


def test_gaussian_closes_on_4x4(small):
    check(small, SMALL)
    assert small.netlist.count(PeNode) == 11
    assert_emulates(small, SMALL)


def test_gaussian_with_the_newest_row_first_needs_no_delays():
    physical = implement(gaussian(), SMALL)
    assert physical.netlist.count(PeNode) == 10 and physical.retiming.latest <= 40
    assert_emulates(physical, SMALL)


def test_harris(large):
    check(large, LARGE)
    assert large.netlist.count(PeNode) <= harris().count(PeNode) + 4
    assert_emulates(large, LARGE)


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), pes=st.integers(1, 25), distance=st.integers(0, 12))
def test_random_netlists_on_8x8(seed, pes, distance):
    physical = implement(random_netlist(seed, pes, distance=distance), MEDIUM, seed)
    check(physical, MEDIUM)
    assert_emulates(physical, MEDIUM)


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10**6), pes=st.integers(30, 60), distance=st.integers(0, 40))
def test_random_netlists_on_16x32(seed, pes, distance):
    physical = implement(random_netlist(seed, pes, distance=distance), LARGE, seed)
    check(physical, LARGE)


def test_other_arrays():
    """Few tracks, a short input stage, one memory column in two."""
    for spec in (FabricSpec(6, 6, tracks=3), FabricSpec(6, 8, delay_depth=4), FabricSpec(6, 6, mem_period=2)):
        check(implement(gaussian(), spec), spec)


def test_a_stream_straight_to_a_stream():
    b = Builder()
    b.stream_out("o", b.stream_in("i"))
    physical = implement(b.build(), SMALL)
    assert physical.retiming.latest == 2 + physical.routes.hops[Pin("o", "in")] + 1
    assert_emulates(physical, SMALL)


def test_feedback():
    b = Builder()
    b.stream_out("o", b.pe("add", (b.stream_in("i"), 0), (Pin("add1", "word0"), 8)))
    physical = implement(b.build(), SMALL)
    assert physical.retiming.delays[Pin("add1", "word1")] + physical.routes.hops[Pin("add1", "word1")] == 6


@pytest.mark.parametrize(("units", "distance"), [(2, 6), (3, 10), (4, 12), (6, 18)])
def test_tight_feedback(units, distance):
    """Loops as fast as the grid allows: an odd number of units needs one hop more."""
    b = Builder()
    pin = Pin(f"add{units}", "word0")
    pin = b.pe("add", (b.stream_in("i"), 0), (pin, distance))
    for _ in range(units - 1):
        pin = b.pe("add", (pin, 0))
    b.stream_out("o", pin)
    physical = implement(b.build(), MEDIUM)
    loop = [e.sink for e in physical.netlist.edges if e.source.node.startswith("add") and e.sink.node != "o"]
    assert sum(physical.routes.hops[pin] + physical.retiming.delays[pin] for pin in loop) == distance - 2 * units


def test_repeatable_in_any_process():
    program = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        "from cgra_netlists import gaussian; from hw.fabric.spec import FabricSpec\n"
        "from compiler.bind.cgra.place_and_route import implement\n"
        "print(implement(gaussian(False), FabricSpec.parse('4x4'), 5))"
    )
    root = Path(__file__).parents[2]
    texts = set()
    for hash_seed in ("1", "2"):
        command = [sys.executable, "-c", program, str(root), str(root / "tests" / "support")]
        texts.add(subprocess.run(command, env=os.environ | {"PYTHONHASHSEED": hash_seed}, check=True,
                                 capture_output=True, text=True).stdout)
    assert len(texts) == 1 and "latest output at" in texts.pop()


def test_too_many_units():
    with pytest.raises(ArrayTooSmall) as error:
        implement(harris(), SMALL)
    assert str(error.value) == "needs 68 PE tiles, 5 memory tiles, 2 streams; the 4x4 array has 12, 4, 4"


def test_too_many_delays():
    b = Builder()
    i = b.stream_in("i")
    b.stream_out("o", b.pe("add", (i, 0), (i, 300)))
    with pytest.raises(ArrayTooSmall) as error:
        implement(b.build(), SMALL)
    delays = error.value.needed[0] - 1
    assert 10 < delays < 18
    assert str(error.value) == (
        f"needs {delays + 1} PE tiles ({delays} of them for delays), 0 memory tiles, 2 streams; "
        "the 4x4 array has 12, 4, 4")


def test_slow_feedback():
    b = Builder()
    b.stream_out("o", b.pe("add", (b.stream_in("i"), 0), (Pin("add1", "word0"), 5)))
    with pytest.raises(RecurrenceViolation) as error:
        implement(b.build(), SMALL)
    assert str(error.value) == ("the recurrence add1.word1 -> add1.word1 is 1 cycles longer than its "
                                "dependence distances allow")


def test_too_few_tracks():
    """A full array of two tracks and words that all cross."""
    b = Builder()
    streams = [b.stream_in(f"i{k}") for k in range(7)]
    layer = streams
    for step in (1, 3, 2):
        layer = [b.pe("mad", (a, 0), (layer[(k + step) % 7], 0), (layer[(k + 2 * step) % 7], 0))
                 for k, a in enumerate(layer)]
    b.stream_out("o", b.reduce("add", [(pin, 0) for pin in layer]))
    spec = FabricSpec(3, 9, tracks=2, mem_period=9)
    with pytest.raises((Unroutable, ArrayTooSmall)) as error:
        implement(b.build(), spec)
    assert str(error.value).startswith(("no free tracks on the 3x9 array with 2 tracks per side for ", "needs "))


# Mutations: each takes a correct mapping and yields wrong ones.

Mutation = Callable[[Physical, FabricSpec], list[Physical]]


def with_sites(p: Physical, **changes: Site) -> Physical:
    return replace(p, placement=Placement(p.placement.sites | changes))


def with_switches(p: Physical, switches: dict) -> Physical:
    return replace(p, routes=Routes(p.routes.routes, switches))


def with_retiming(p: Physical, **changes: object) -> Physical:
    return replace(p, retiming=replace(p.retiming, **changes))


def swapped_units(p: Physical, spec: FabricSpec) -> list[Physical]:
    pes = [name for name, node in p.netlist.nodes.items() if isinstance(node, PeNode)]
    return [with_sites(p, **{a: p.placement[b], b: p.placement[a]}) for a, b in pairwise(pes)]


def wrong_kind(p: Physical, spec: FabricSpec) -> list[Physical]:
    memory = next(name for name, node in p.netlist.nodes.items() if isinstance(node, MemNode))
    return [with_sites(p, **{memory: Site(0, 0)}), with_sites(p, **{memory: Site(-1, 3)}),
            with_sites(p, input=Site(-1, spec.columns)), with_sites(p, output=p.placement["input"])]


def other_selection(p: Physical, spec: FabricSpec) -> list[Physical]:
    """Every switch turned to every other source that it has."""
    wrong = []
    for wire, selected in p.routes.switches.items():
        kind = spec.tile_kind(wire.row, wire.column)
        for source in switch_sources(spec, kind, wire.network, wire.side, wire.track):
            if source != selected:
                wrong.append(with_switches(p, p.routes.switches | {wire: source}))
    return wrong


def impossible_selection(p: Physical, spec: FabricSpec) -> list[Physical]:
    return [with_switches(p, p.routes.switches | {wire: source})
            for wire in p.routes.switches
            for source in (CoreSource("word7"), TrackSource(wire.side, wire.track))]


def missing_switch(p: Physical, spec: FabricSpec) -> list[Physical]:
    return [with_switches(p, {w: s for w, s in p.routes.switches.items() if w != gone}) for gone in p.routes.switches]


def needless_switch(p: Physical, spec: FabricSpec) -> list[Physical]:
    wires = [replace(wire, track=(wire.track + k) % spec.tracks) for wire in p.routes.switches for k in (1, 2)]
    return [with_switches(p, p.routes.switches | {w: CoreSource("word0")}) for w in wires if w not in p.routes.switches]


def other_connection(p: Physical, spec: FabricSpec) -> list[Physical]:
    """Every connection box turned to a track with another net, or none."""
    wrong = []
    for pin, way in p.routes.routes.items():
        for shift in range(1, spec.tracks):
            at_row_0 = p.placement[pin.node].row == 0 and way.connection.side is Side.N
            track = replace(way.connection, track=(way.connection.track + shift) % spec.tracks)
            if not at_row_0 and not carries(p, pin, track, way.edge.source):
                wrong.append(replace(p, routes=Routes(p.routes.routes | {pin: replace(way, connection=track)},
                                                      p.routes.switches)))
    return wrong


def carries(p: Physical, pin: Pin, track: TrackSource, source: Pin) -> bool:
    row, column = p.placement[pin.node]
    down, right = {Side.N: (-1, 0), Side.E: (0, 1), Side.S: (1, 0), Side.W: (0, -1)}[track.side]
    return any(way.edge.source == source and wire.track == track.track and wire.side is track.side.opposite
               and (wire.row, wire.column) == (row + down, column + right)
               for way in p.routes.routes.values() for wire in way.wires)


def other_delay(p: Physical, spec: FabricSpec) -> list[Physical]:
    delays = p.retiming.delays
    return [with_retiming(p, delays=delays | {pin: delay + by}) for pin, delay in delays.items() for by in (-1, 1, 16)]


def missing_delay(p: Physical, spec: FabricSpec) -> list[Physical]:
    delays = p.retiming.delays
    return [with_retiming(p, delays={pin: d for pin, d in delays.items() if pin != gone}) for gone in delays]


def other_time(p: Physical, spec: FabricSpec) -> list[Physical]:
    times = p.retiming.times
    return [with_retiming(p, times=times | {pin: time + by}) for pin, time in times.items() for by in (-1, 1)]


def other_latest(p: Physical, spec: FabricSpec) -> list[Physical]:
    return [with_retiming(p, latest=p.retiming.latest + by) for by in (-1, 1)]


def all_earlier(p: Physical, spec: FabricSpec) -> list[Physical]:
    """Everything consistent but before the bank can deliver."""
    early = min(p.retiming.times[Pin(n, "out")] for n, k in p.netlist.nodes.items() if isinstance(k, StreamIn)) - 1
    return [replace(p, retiming=Retiming({pin: t - early for pin, t in p.retiming.times.items()},
                                         p.retiming.delays, p.retiming.latest - early))]


def other_distance(p: Physical, spec: FabricSpec) -> list[Physical]:
    wrong = []
    for number, edge in enumerate(p.netlist.edges):
        edges = [*p.netlist.edges[:number], replace(edge, distance=edge.distance + 1), *p.netlist.edges[number + 1 :]]
        wrong.append(replace(p, netlist=replace(p.netlist, edges=tuple(edges))))
    return wrong


def other_source(p: Physical, spec: FabricSpec) -> list[Physical]:
    edges = p.netlist.edges
    wrong = []
    for number, edge in enumerate(edges):
        other = next(e.source for e in edges if e.source != edge.source)
        changed = (*edges[:number], replace(edge, source=other), *edges[number + 1 :])
        wrong.append(replace(p, netlist=replace(p.netlist, edges=changed)))
    return wrong


def tighter_separation(p: Physical, spec: FabricSpec) -> list[Physical]:
    wrong = []
    for s in p.netlist.separations:
        apart = p.retiming.times[s.output] - p.retiming.times[s.input]
        for bounds in ({"minimum": apart + 1}, {"maximum": apart - 1}):
            others = tuple(x for x in p.netlist.separations if x != s)
            wrong.append(replace(p, netlist=replace(p.netlist, separations=(*others, replace(s, **bounds)))))
    return wrong


MUTATIONS: list[Mutation] = [
    swapped_units, wrong_kind, other_selection, impossible_selection, missing_switch, needless_switch, other_connection,
    other_delay, missing_delay, other_time, other_latest, all_earlier, other_distance, other_source, tighter_separation,
]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
@pytest.mark.parametrize("which", ["small", "large"])
def test_check_catches(mutation, which, request):
    physical, spec = request.getfixturevalue(which), SMALL if which == "small" else LARGE
    mutants = mutation(physical, spec)
    assert mutants
    for mutant in mutants[:: max(1, len(mutants) // 150)]:
        with pytest.raises(PhysicalError):
            check(mutant, spec)


def changed_netlists(p: Physical) -> list[Physical]:
    """Netlists that are consistent but not the original with delays."""
    netlist = p.netlist
    delay = netlist.nodes["input_delay0"]
    assert isinstance(delay, PeNode)
    negates = replace(delay, config=replace(delay.config, op="abs"))
    fixed = replace(delay, config=replace(delay.config, constants=(1, None, None)))
    changed = [replace(netlist, nodes=netlist.nodes | {delay.name: node}) for node in (negates, fixed)]
    shifted = replace(netlist.nodes["shr11"], config=replace(delay.config, op="shl"))
    changed.append(replace(netlist, nodes=netlist.nodes | {"shr11": shifted}))
    changed.append(replace(netlist, separations=netlist.separations[1:]))
    changed.append(replace(netlist, edges=netlist.edges[1:]))
    for number, edge in enumerate(netlist.edges):
        other = replace(edge, distance=edge.distance + 1)
        changed.append(replace(netlist, edges=(*netlist.edges[:number], other, *netlist.edges[number + 1 :])))
    return [replace(p, netlist=n) for n in changed]


def test_check_compares_with_the_original(small):
    check(small, SMALL, gaussian(newest_first=False))
    for mutant in changed_netlists(small):
        with pytest.raises(PhysicalError, match=r"original|missing or changed"):
            check(mutant, SMALL, gaussian(newest_first=False))


def test_messages_of_the_check(small):
    def message(physical: Physical) -> str:
        with pytest.raises(PhysicalError) as error:
            check(physical, SMALL)
        return str(error.value)

    assert message(with_sites(small, lines=Site(0, 0))).endswith("(0, 0)")
    assert message(with_sites(small, output=small.placement["input"])) == (
        f"output and input are both at {small.placement['input']}")
    assert message(with_retiming(small, latest=7)) == f"the latest output is at {small.retiming.latest}, not 7"
    spare = next(w for t in range(5) if (w := Wire(3, 0, next(iter(small.routes.switches)).network, Side.N, t))
                 not in small.routes.switches)
    assert message(with_switches(small, small.routes.switches | {spare: CoreSource("word0")})) == (
        f"word track {spare.track} from tile (3, 0) to N is driven but leads nowhere")
    pin = Pin("output", "in")
    late = small.retiming.times | {pin: 500}
    assert message(with_retiming(small, times=late)) == (
        f"shr11.word0 -> output.in (word, distance 0) arrives at {small.retiming.latest}, expected at 500")


def test_printing(small):
    text = str(small)
    assert "lines at (" in text and "latest output at" in text and "-> output.in (word, distance 0):" in text


@pytest.mark.parametrize(("netlist", "spec", "seconds"), [(gaussian(), SMALL, 5), (harris(), LARGE, 20)])
def test_time(netlist, spec, seconds):
    start = time.process_time()
    implement(netlist, spec)
    assert time.process_time() - start < seconds
