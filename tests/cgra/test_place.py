"""Placement: legal sites, fixed units, repeatability, quality, errors."""

import time

import pytest
from cgra_netlists import Builder, gaussian, harris, random_netlist
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.bind.cgra.netlist import MemNode, Netlist, PeNode
from compiler.bind.cgra.place import ArrayTooSmall, Placement, PlacementError, Site, distance, place
from compiler.bind.cgra.sites import IO_ROW
from hw.fabric.spec import FabricSpec, GlobalBufferSpec, TileKind

SMALL, MEDIUM, LARGE = map(FabricSpec.parse, ("4x4", "8x8", "16x32"))


def assert_legal(netlist: Netlist, placement: Placement, spec: FabricSpec) -> None:
    assert set(placement.sites) == set(netlist.nodes)
    assert len(set(placement.sites.values())) == len(placement.sites)
    for name, node in netlist.nodes.items():
        row, column = placement[name]
        if isinstance(node, PeNode | MemNode):
            wanted = TileKind.PE if isinstance(node, PeNode) else TileKind.MEM
            assert spec.tile_kind(row, column) is wanted
        else:
            assert row == IO_ROW and column in spec.bank_columns


def length(netlist: Netlist, placement: Placement) -> int:
    return sum(distance(netlist, e, placement[e.source.node], placement[e.sink.node]) for e in netlist.edges)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), pes=st.integers(1, 30))
def test_random_netlists_have_legal_sites(seed, pes):
    netlist = random_netlist(seed, pes)
    assert_legal(netlist, place(netlist, MEDIUM, seed), MEDIUM)


def test_same_seed_same_placement():
    assert place(harris(), MEDIUM_WIDE, 3) == place(harris(), MEDIUM_WIDE, 3)
    assert place(harris(), MEDIUM_WIDE, 3) != place(harris(), MEDIUM_WIDE, 4)


MEDIUM_WIDE = FabricSpec.parse("10x16")


def test_a_chain_is_placed_as_a_chain():
    b = Builder()
    b.stream_out("o", b.reduce("add", [(b.stream_in("i"), 0), *[(b.stream_in("j"), 0)] * 9]))
    b.edges = [e for e in b.edges if e.source.node != "j"]
    del b.nodes["j"]
    netlist = b.build()
    assert length(netlist, place(netlist, LARGE)) <= 14


def test_gaussian_is_compact_everywhere():
    for spec in (SMALL, LARGE):
        assert length(gaussian(), place(gaussian(), spec)) <= 48


def test_fixed_units_stay():
    fixed = {"lines": Site(2, 3), "input": Site(IO_ROW, 1)}
    placement = place(gaussian(), SMALL, fixed=fixed)
    assert_legal(gaussian(), placement, SMALL)
    assert placement["lines"] == (2, 3) and placement["input"] == (-1, 1)


def test_refinement_keeps_most_and_adds_near():
    netlist = gaussian()
    first = place(netlist, LARGE)
    known = {name: site for name, site in first.sites.items() if name != "mad5"}
    again = place(netlist, LARGE, start=Placement(known))
    assert_legal(netlist, again, LARGE)
    assert length(netlist, again) <= length(netlist, first) + 10


def test_streams_use_only_columns_with_banks():
    spec = FabricSpec(4, 8, glb=GlobalBufferSpec(banks=2))
    placement = place(gaussian(), spec)
    assert {placement["input"].column, placement["output"].column} == set(spec.bank_columns)


def test_array_too_small():
    b = Builder()
    i = b.stream_in("i")
    for index in range(5):
        b.line_buffer(f"m{index}", i)
    b.stream_out("o", b.reduce("add", [(i, 0)] * 20))
    with pytest.raises(ArrayTooSmall) as error:
        place(b.build(), SMALL)
    assert str(error.value) == "needs 19 PE tiles, 5 memory tiles, 2 streams; the 4x4 array has 12, 4, 4"
    assert error.value.needed == (19, 5, 2) and error.value.present == (12, 4, 4)


@pytest.mark.parametrize(("fixed", "message"), [
    ({"lines": Site(0, 0)}, "lines cannot be at (0, 0): that is not one of the memory tiles"),
    ({"output": Site(IO_ROW, 9)}, "output cannot be at bank 9: that is not one of the streams"),
    ({"input": Site(IO_ROW, 1), "output": Site(IO_ROW, 1)}, "two units are fixed at bank 1, one of them output"),
    ({"nobody": Site(0, 0)}, "there is no unit 'nobody' to fix at (0, 0)"),
])
def test_impossible_wishes(fixed, message):
    with pytest.raises(PlacementError) as error:
        place(gaussian(), SMALL, fixed=fixed)
    assert str(error.value) == message


def test_full_array():
    b = Builder()
    b.stream_out("o", b.reduce("add", [(b.stream_in("i"), 0)] * 13))
    assert_legal(b.build(), place(b.build(), SMALL), SMALL)


def test_printing():
    text = str(place(gaussian(), SMALL, fixed={"lines": Site(2, 3), "input": Site(IO_ROW, 1)}))
    assert "lines at (2, 3)" in text and "input at bank 1" in text


@pytest.mark.parametrize(("pes", "seconds"), [(20, 2), (100, 8)])
def test_time(pes, seconds):
    """Ten times what it takes on an idle machine."""
    netlist = random_netlist(1, pes)
    start = time.process_time()
    place(netlist, LARGE)
    assert time.process_time() - start < seconds
