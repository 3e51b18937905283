"""From schedules to netlists: what each read hangs on, what streams there are, and what does not fit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from compiler.bind.buffers.unified import extract_buffers
from compiler.bind.cgra.mapping import Application, ApplicationError, map_program
from compiler.bind.cgra.netlist import Edge, MemNode, PeNode, Pin, StreamIn, StreamOut
from compiler.bind.cgra.operands import Signal
from compiler.frontend import kernel
from compiler.frontend.loop_nest import Prog, load, prog
from compiler.ir.program import Program
from compiler.ir.types import Int
from compiler.sched.static.schedule import Schedule
from compiler.sched.static.static_schedule import schedule_program
from compiler.sched.streams.streams import choose_tile_depth, stage_streams
from hw.memtile import MemTileSpec
from hw.ops import Kind

PUB, DUAL = MemTileSpec(kind="pub"), MemTileSpec(kind="dual-port")
HERE = str(Path(__file__).relative_to(Path(__file__).resolve().parents[2]))


def line_of(text: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if line.endswith(f"# {text}"))


def schedule(program: Program, **options: Any) -> Schedule:
    return schedule_program(stage_streams(program, choose_tile_depth(program, 1 << 15)), **options)


def build(program: Program, spec: MemTileSpec = PUB, **options: Any) -> Application:
    return map_program(schedule(program, **options), spec)


def stage(prg: Prog, name: str, loads: list[tuple[str, ...]], target: tuple[str, ...], trips: tuple[int, int],
          function: Any = None) -> None:
    op = prg.add_loop("y", 0, trips[0]).add_loop("x", 0, trips[1]).add_op(name)
    op.add_function(function or (lambda *args: sum(args[1:], args[0])))
    for source in loads:
        op.add_load(*source)
    op.add_store(*target)


def test_units_of_brighten_blur() -> None:
    """The seed's figure 5.1: brighten, a memory that delays by a row, and taps one cycle apart."""
    app = build(load("brighten_blur"))
    nodes = app.netlist.nodes
    assert {kind: app.netlist.count(kind) for kind in (PeNode, MemNode, StreamIn, StreamOut)} == {
        PeNode: 5, MemNode: 1, StreamIn: 1, StreamOut: 1}
    assert (app.streams_in, app.streams_out, app.roms) == ({"input": "in_input"}, {"blur": "out_blur"}, {})
    row_above = Signal(Pin("mem0", "out0"), Kind.WORD, 0, Signal.FLEXIBLE)
    row = Signal(Pin("Brighten.0", "word0"), Kind.WORD, 0, 1)
    assert [app.reads["Blur", k] for k in range(4)] == [row_above.delayed(1), row_above, row.delayed(1), row]
    assert Edge(Pin("Brighten.0", "word0"), Pin("mem0", "in0"), "word") in app.netlist.edges
    assert Edge(app.results["Blur"].pin, Pin("out_blur", "in"), "word") in app.netlist.edges
    assert nodes[app.results["Blur"].pin.node].config.op == "shr"  # type: ignore[union-attr]


def test_a_copy_is_no_unit_and_keeps_its_distance() -> None:
    """Stages that only move words: taps of the source, also through two of them."""
    prg = prog("copies")
    prg.add_input("a", shape=(4, 16))
    prg.add_output("c")
    stage(prg, "First", [("a", "x + 2", "y")], ("b", "x", "y"), (4, 12))
    stage(prg, "Second", [("b", "x", "y"), ("b", "x + 3", "y")], ("c", "x", "y"), (4, 9))
    app = build(prg.build())
    source = Pin("in_a", "out")
    assert app.results["First"] == Signal(source, Kind.WORD, 0)
    assert [app.reads["Second", k].distance for k in range(2)] == [3, 0]
    assert app.netlist.count(PeNode) == 1
    assert app.netlist.count(MemNode) == 0


def test_outputs_may_be_read_too() -> None:
    prg = prog("both")
    prg.add_input("a", shape=(4, 8))
    prg.add_output("b")
    prg.add_output("c")
    stage(prg, "First", [("a", "x", "y")], ("b", "x", "y"), (4, 8), lambda a: a + 1)
    stage(prg, "Second", [("b", "x", "y")], ("c", "x", "y"), (4, 8), lambda b: b * 3)
    app = build(prg.build())
    assert app.streams_out == {"b": "out_b", "c": "out_c"}
    driven = {edge.sink: edge.source for edge in app.netlist.edges}
    assert driven[Pin("out_b", "in")] == app.results["First"].pin == driven[Pin("Second.0", "word0")]


def test_tables_are_memory_tiles() -> None:
    prg = prog("curve")
    prg.add_input("a", shape=(4, 8), type=Int(8, False))
    prg.add_output("b")
    table = prg.add_table("t", list(range(256)))
    stage(prg, "Look", [("a", "x", "y")], ("b", "x", "y"), (4, 8), lambda a: kernel.lookup(table, a))
    app = build(prg.build())
    assert app.roms == {"Look.rom0": "t"}
    assert app.netlist.nodes["Look.rom0"] == MemNode("Look.rom0")


def test_buffers_print() -> None:
    app = build(load("brighten_blur", tiles=2, size=8), fusion_level=None)
    text = "\n".join(map(str, app.buffers))
    assert "buffer brighten\n  write { Brighten[t, y_br, x_br] -> brighten[y_br, x_br] }  at  Brighten: cycle" in text
    assert text.count("distance 1\n") == text.count("distance 8\n") == 1


def test_distances_that_vary_need_an_addressed_memory() -> None:
    app = build(load("upsample", width=8, height=4))
    (buffer,) = extract_buffers(app.schedule)
    assert [reader.distance for reader in buffer.readers] == [None]
    assert app.taps == {"input__tile.load_input": []}
    assert "distance varies" in str(buffer)
    assert app.reads["Upsample", 0] == Signal(Pin("mem0", "out0"), Kind.WORD, 0, Signal.FLEXIBLE)


def test_a_read_of_two_producers_selects_by_a_table() -> None:
    prg = prog("two")
    prg.add_input("a", shape=(4, 8))
    prg.add_output("c")
    stage(prg, "Left", [("a", "x", "y")], ("b", "x", "y"), (4, 4), lambda a: a + 1)
    stage(prg, "Right", [("a", "x + 4", "y")], ("b", "x + 4", "y"), (4, 4), lambda a: a + 2)
    op = prg.add_loop("y", 0, 4).add_loop("x", 0, 8).add_op("Both")
    op.add_load("b", "x", "y")
    op.add_store("c", "x", "y")
    app = build(prg.build())
    (table,) = app.controls.values()
    assert table.contents in ((1, 1, 1, 1, 0, 0, 0, 0), (0, 0, 0, 0, 1, 1, 1, 1))
    assert table.strides == (1, 0)
    merge = app.netlist.nodes["Both.merge0_0"]
    assert isinstance(merge, PeNode) and merge.config.op == "select"


@pytest.mark.parametrize("type_", [Int(24, True), Int(32, False)], ids=str)
def test_elements_must_fit_words(type_: Int) -> None:
    prg = prog("wide")
    prg.add_input("a", shape=(4, 8), type=type_)
    prg.add_output("b")
    stage(prg, "Cut", [("a", "x", "y")], ("b", "x", "y"), (4, 8), lambda a: kernel.cast(Int(16, False), a))
    with pytest.raises(ApplicationError) as error:
        build(prg.build())
    assert re.fullmatch(rf"statement 'Cut' \(\S+:\d+\): array \w+ holds {type_}; (it computes with int24; )?the array "
                        "target has 16-bit words, and pairs of them for 32-bit sums, differences, products, "
                        "comparisons, and divisions and shifts by constants; take target fpga or dataflow",
                        str(error.value))


def test_tables_must_fit_memory_tiles() -> None:
    prg = prog("curve")
    prg.add_input("a", shape=(4, 8))
    prg.add_output("b")
    table = prg.add_table("long", [0] * 2049)
    stage(prg, "Look", [("a", "x", "y")], ("b", "x", "y"), (4, 8), lambda a: kernel.lookup(table, a & 7))
    with pytest.raises(ApplicationError) as error:
        build(prg.build())
    assert str(error.value) == "table long has 2049 entries; a memory tile holds 2048 words"


def test_the_netlist_is_the_same_for_both_memories_but_for_the_memories() -> None:
    pub, dual = build(load("cascade"), PUB), build(load("cascade"), DUAL)
    assert [n for n in pub.netlist.nodes.values() if isinstance(n, PeNode)] == [
        n for n in dual.netlist.nodes.values() if isinstance(n, PeNode)]
    assert (pub.netlist.count(MemNode), dual.netlist.count(MemNode)) == (2, 4)
