"""Memory tiles of applications: how many, which share, which chain. What they deliver: tests/buffers."""

from __future__ import annotations

import re

import pytest

from compiler.bind.buffers.circular import live_words
from compiler.bind.buffers.wide_fetch import AccessPatternError
from compiler.bind.cgra.mapping import Application, map_program
from compiler.bind.cgra.memories import CapacityError, MemoryAllocator
from compiler.bind.cgra.netlist import Edge, Pin, SkewBound
from compiler.bind.cgra.operands import Signal
from compiler.frontend.loop_nest import load, prog
from compiler.ir.program import Program
from compiler.sched.static.schedule import InitiationIntervals
from compiler.sched.static.static_schedule import schedule_program
from compiler.sched.streams.streams import choose_tile_depth, stage_streams
from hw.memtile import MemTileSpec
from hw.ops import Kind

PUB, DUAL = MemTileSpec(kind="pub"), MemTileSpec(kind="dual-port")
SPECS = [PUB, DUAL]
SOURCE = Signal(Pin("pe", "word0"), Kind.WORD, 3)


def build(program: Program, spec: MemTileSpec, interval: int = 1, sparse: bool = False,
          fusion_level: int | None = None, half_words: int = 1 << 15) -> Application:
    staged = stage_streams(program, choose_tile_depth(program, half_words))
    alignment = 4 if interval > 1 else 1
    return map_program(schedule_program(staged, fusion_level, alignment, InitiationIntervals(interval)), spec, sparse)


@pytest.mark.parametrize(("name", "pub", "dual"), [
    ("gaussian", 1, 2), ("conv_3_3", 1, 2), ("cascade", 2, 4), ("brighten_blur", 1, 1), ("upsample", 1, 1),
    ("gaussian_tiled", 1, 2),
])
def test_tiles_of_the_applications(name: str, pub: int, dual: int) -> None:
    """Published (table 7.3): gaussian 1 and 2, upsample 1 and 2."""
    assert len(build(load(name), PUB).memories) == pub
    assert len(build(load(name), DUAL).memories) == dual


@pytest.mark.parametrize("name", ["gaussian", "brighten_blur", "gaussian_pyramid", "upsample"])
def test_small_memories_hold_no_more_than_twice_what_is_live(name: str) -> None:
    """Memories of 128 words: whole ones are at most twice the words that are live at once."""
    small = MemTileSpec(kind="pub", depth=32)
    tiles = build(load(name), small).memories
    live = sum(live_words(buffer.traffic) for tile in tiles for buffer in tile.buffers)
    assert small.capacity_words * len(tiles) <= 2 * live


def test_two_line_buffers_are_two_outputs_of_one_tile() -> None:
    (tile,) = build(load("gaussian"), PUB).memories
    (buffer,) = tile.buffers
    assert (buffer.input, buffer.outputs, tile.chain) == (0, (0, 1), None)
    assert [read.name for read in buffer.reads] == ["input__tile.load_input+64", "input__tile.load_input+128"]


def test_taps_that_are_near_hang_on_one_memory() -> None:
    app = build(load("gaussian"), PUB)
    (groups,) = app.taps.values()
    assert [(group.head, [tap.distance for tap in group.taps]) for group in groups] == [
        (0, [0, 1, 2]), (64, [64, 65, 66]), (128, [128, 129, 130])]
    assert app.registers == 6
    assert [str(group) for group in groups] == [
        "producer: taps at 0, 1, 2", "memory delay 64: taps at 64, 65, 66", "memory delay 128: taps at 128, 129, 130"]


def transposed(size: int) -> Program:
    """Words are read in their order too, so that the load keeps it."""
    prg = prog("transpose")
    prg.add_input("a", shape=(size, size))
    prg.add_output("b")
    prg.add_output("c")
    op = prg.add_loop("y", 0, size).add_loop("x", 0, size).add_op("Keep")
    op.add_load("a", "x", "y")
    op.add_store("c", "x", "y")
    op = prg.add_loop("y", 0, size).add_loop("x", 0, size).add_op("Turn")
    op.add_load("a", "y", "x")
    op.add_store("b", "x", "y")
    return prg.build()


@pytest.mark.parametrize(("spec", "size", "interval", "tiles"), [
    (DUAL, 32, 1, 1), (DUAL, 64, 1, 2), (DUAL, 90, 1, 4), (PUB, 64, 2, 2),
])
def test_a_large_transposition_is_a_chain(spec: MemTileSpec, size: int, interval: int, tiles: int) -> None:
    app = build(transposed(size), spec, interval)
    assert [tile.chain for tile in app.memories] == ([(k, tiles) for k in range(tiles)] if tiles > 1 else [None])
    links = [edge for edge in app.netlist.edges if edge.sink.port == "chain0"]
    assert links == [Edge(Pin(f"mem{k}", "out0"), Pin(f"mem{k + 1}", "chain0"), "word") for k in range(tiles - 1)]
    written = [edge.sink for edge in app.netlist.edges if edge.source == Pin("in_a", "out")
               and edge.sink.node.startswith("mem")]
    assert written == [Pin(f"mem{k}", "in0") for k in range(tiles)]
    for k in range(tiles - 1):
        link = SkewBound(Pin(f"mem{k + 1}", "out0"), Pin(f"mem{k + 1}", "chain0"), 1, 1)
        assert link in app.netlist.separations


def test_the_sparse_layout_takes_a_wide_word_for_every_word() -> None:
    assert len(build(transposed(64), PUB, 2, sparse=True).memories) == 8
    assert len(build(transposed(64), PUB, 2).memories) == 2


def test_only_words_that_are_not_fetched_in_an_affine_nest_have_a_wide_word_each() -> None:
    """Columns of a row of 30 words lie in 8 wide words, the last of which is not full; rows go on from one to the
    next."""
    held = {b.traffic.packing for tile in build(transposed(30), PUB, 2).memories for b in tile.buffers}
    assert held == {1}
    app = build(transposed(62), PUB, 2)
    held = {b.traffic.packing for tile in app.memories for b in tile.buffers}
    assert held == {4}, "they would take too many memories"
    with pytest.raises(AccessPatternError, match=r"reads 'a' in an order that is no loop nest with constant "
                                                 "strides, as pub memory tiles need"):
        app.require_followed()


def test_a_buffer_can_be_too_large() -> None:
    with pytest.raises(CapacityError) as error:
        build(transposed(190), DUAL, half_words=1 << 16)
    assert re.fullmatch(r"buffer a__tile.load_a \(read by statement '\w+' \(\S+:\d+\)\) needs more than 16 chained "
                        "memory tiles of 2048 words", str(error.value))


@pytest.mark.parametrize("spec", SPECS)
def test_short_delay_lines_share_a_wide_fetch_tile(spec: MemTileSpec) -> None:
    """Bank merging (section 5.2.3): two lines of one output each; the ports of a dual-port memory are taken by one."""
    allocator = MemoryAllocator(spec)
    for name in ("first", "second", "third"):
        allocator.delays(name, SOURCE, 0, 1000, [100])
    ports = [[(b.traffic.name, b.input, b.outputs) for b in tile.buffers] for tile in allocator.tiles]
    if spec is PUB:
        assert ports == [[("first", 0, (0,)), ("second", 1, (1,))], [("third", 0, (0,))]]
    else:
        assert ports == [[("first", 0, (0,))], [("second", 0, (0,))], [("third", 0, (0,))]]
    assert [edge.distance for edge in allocator.edges] == [3, 3, 3]


@pytest.mark.parametrize(("distance", "shares"), [(960, True), (961, False), (1920, False)])
def test_a_delay_line_shares_only_if_half_a_tile_is_enough(distance: int, shares: bool) -> None:
    """Its reads may come as scheduled, and 64 cycles later, in the region that it gets."""
    allocator = MemoryAllocator(PUB)
    allocator.delays("long", SOURCE, 0, 5000, [distance])
    allocator.delays("short", SOURCE, 0, 5000, [30])
    assert (len(allocator.tiles) == 1) is shares
    bounds = [s for s in allocator.separations if s.output == Pin("mem0", "out0") and s.input == Pin("mem0", "in0")]
    assert all(s.minimum <= 0 <= 64 <= s.maximum for s in bounds)
    assert len(bounds) == 1


@pytest.mark.parametrize("spec", SPECS)
def test_a_line_longer_than_a_tile_is_cut(spec: MemTileSpec) -> None:
    allocator = MemoryAllocator(spec)
    (signal,) = allocator.delays("line", SOURCE, 7, 5000, [4000])
    assert signal == Signal(Pin("mem2", "out0"), Kind.WORD, 0, Signal.FLEXIBLE)
    assert [edge.source for edge in allocator.edges] == [SOURCE.pin, Pin("mem0", "out0"), Pin("mem1", "out0")]
    starts = [tile.buffers[0].traffic.write.time_offset for tile in allocator.tiles]
    assert starts == [7, 7 + 1920, 7 + 3840]


@pytest.mark.parametrize(("level", "tiles"), [(None, 1), (1, 2), (0, 4)])
def test_memories_do_not_undo_the_fusion_level(level: int | None, tiles: int) -> None:
    """Their outputs are never earlier than scheduled after what their source produces."""
    app = build(load("brighten_blur"), DUAL, fusion_level=level)
    assert len(app.memories) == tiles
    sources = {edge.sink.node: edge.source for edge in app.netlist.edges if edge.sink.port == "in0"}
    for tile in app.memories:
        assert any(s.input == sources[tile.name] and s.output == Pin(tile.name, "out0") and s.minimum == 0
                   for s in app.netlist.separations)
