"""Accumulators and other recurrences on the array: schedules, merges, drains, and what cannot be mapped.

Every compile proves the configured array against the program; `tb/test_accumulations.py` simulates.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from random_triangles import random_triangle

import compiler
from compiler.bind.cgra.mapping import map_program
from compiler.bind.cgra.netlist import MemNode, PeNode
from compiler.frontend.c_scop import parse_scop
from compiler.frontend.loop_nest import Prog, load, prog
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.types import INT16
from compiler.passes.arrays.partition import partition
from compiler.passes.directives import split, unroll
from compiler.passes.normalize.static_form import drain_accumulators, propagate_constants
from compiler.sched.static.static_schedule import schedule_program
from compiler.sched.streams.streams import stage_streams
from compiler.sched.verify import ValidationError
from hw.memtile import MemTileSpec


def product(size: int = 8, order: str = "ryx", start: int = 0) -> Prog:
    """c[y][x] = start + sum over r of a[y][r] * b[r][x], the loops in any order."""
    prg = prog("product", INT16)
    prg.add_input("a", (size, size))
    prg.add_input("b", (size, size))
    prg.add_output("c", (size, size))
    first = prg.add_loop("y", 0, size).add_loop("x", 0, size).add_op("Start")
    first.add_function(lambda: start)
    first.add_store("c", "x", "y")
    nest = prg
    for name in order:
        nest = nest.add_loop(name, 0, size)
    op = nest.add_op("Add")
    op.add_function(lambda c, a, b: c + a * b)
    op.add_load("c", "x", "y")
    op.add_load("a", "r", "y")
    op.add_load("b", "x", "r")
    op.add_store("c", "x", "y")
    return prg


def running_sum(start: int) -> Program:
    prg = prog("running", INT16)
    prg.add_input("a", shape=(40,))
    prg.add_output("s")
    first = prg.add_loop("x", 0, start).add_op("Start")
    first.add_load("a", "x")
    first.add_store("s", "x")
    op = prg.add_loop("x", start, 40 - start).add_op("Sum")
    op.add_function("add")
    op.add_load("s", f"x - {start}")
    op.add_load("a", "x")
    op.add_store("s", "x")
    return prg.build()


def test_the_final_values_are_drained_beside_the_last_step() -> None:
    program = drain_accumulators(product().build())
    assert [s.name for s in program.statements] == ["Start", "Add", "Add_drain"]
    data = {a.name: np.random.default_rng(2).integers(-99, 99, a.shape) for a in program.inputs}
    np.testing.assert_array_equal(interpret(program, data)["c"], data["a"] @ data["b"])
    design = compiler.compile(product().build(), memory="dual-port", array="8x4")
    schedule = design.schedule.statements
    assert schedule["Add_drain"].offset == schedule["Add"].offset + 7 * 64
    assert design.lower_bound == 512


def test_programs_without_accumulators_stay_as_they_are() -> None:
    program = load("harris", width=16, height=12)
    assert drain_accumulators(program) is program and propagate_constants(program) is program


def test_constants_reach_their_readers() -> None:
    prg = prog("bias", INT16)
    prg.add_input("a", (8,))
    prg.add_output("b")
    zero = prg.add_loop("x", 0, 8).add_op("Seven")
    zero.add_function(lambda: 7)
    zero.add_store("bias", "x")
    op = prg.add_loop("x", 0, 8).add_op("Add")
    op.add_function("add")
    op.add_load("bias", "x")
    op.add_load("a", "x")
    op.add_store("b", "x")
    program = propagate_constants(prg.build())
    assert [read.array for read in program.statement("Add").reads] == ["a"]
    np.testing.assert_array_equal(interpret(program, {"a": np.arange(8)})["b"], np.arange(8) + 7)
    assert [s.name for s in compiler.compile(prg.build(), array="4x4").parts.program.statements] == ["Seven", "Add"]


@pytest.mark.parametrize("memory", ["pub", "dual-port"])
@pytest.mark.parametrize(("order", "start"), [("ryx", 0), ("yrx", 5), ("rxy", -3)])
def test_products_in_any_loop_order(memory: str, order: str, start: int) -> None:
    design = compiler.compile(product(8, order, start).build(), memory=memory, array="8x4")
    assert len(design.application.controls) == 1
    assert design.predicted_cycles >= design.lower_bound == 512


def test_unrolled_sums_are_chains_of_multiply_adds() -> None:
    """The running sum, which comes back soon, is added last and alone: that keeps its loop short."""
    program = unroll(split(product(8, "yxr").build(), "r", 4), "r_i")
    design = compiler.compile(program, memory="dual-port", array="8x8")
    ops = [n.config.op for n in design.application.netlist.nodes.values() if isinstance(n, PeNode)]
    assert sorted(ops) == ["add", "mad", "mad", "mad", "mul", "ne", "select"]


@pytest.mark.parametrize("memory", ["pub", "dual-port"])
def test_a_recurrence_that_is_too_fast_gets_a_longer_interval(memory: str) -> None:
    """Of a value of two steps ago, over wires; one of the step before is inside the element."""
    slow, fast, local = (compiler.compile(running_sum(d), memory=memory, array="4x4") for d in (2, 12, 1))
    assert slow.schedule.pace.interval > fast.schedule.pace.interval == local.schedule.pace.interval == 1


def test_a_wrong_control_table_is_caught() -> None:
    design = compiler.compile(product().build(), memory="dual-port", array="8x4")
    (name,) = design.application.controls
    site = design.physical.placement[name]
    tile = design.config.tiles[site.row, site.column]
    wrong = replace(tile.core, contents=(1, 1, *tile.core.contents[2:]))
    design.config.tiles[site.row, site.column] = replace(tile, core=wrong)
    del design.words
    with pytest.raises(ValidationError, match=r"statement 'Add' \(.*\) reads c_sums"):
        design.validate()


@pytest.mark.parametrize(("memory", "shared"), [("pub", False), ("dual-port", True)])
def test_the_published_layer_takes_no_more_than_was_published(memory: str, shared: bool) -> None:
    """28 x 28, 8 channels to 8: 80 memory tiles and 128 PEs, last cycle 8739 (Liu 2023, tables 7.3 to 7.5)."""
    program = partition(drain_accumulators(load("resnet_layer"))).program
    schedule = schedule_program(stage_streams(program, 0))
    netlist = map_program(schedule, MemTileSpec(kind=memory), shared=shared).netlist
    assert netlist.count(MemNode) <= 80 and netlist.count(PeNode) <= 128
    assert max(entry.last for entry in schedule.statements.values()) < 7056 / 0.98


def test_delays_before_a_memory_are_followed() -> None:
    """Two weights share a memory tile and must not be written in one cycle, so one of them is delayed on its way."""
    design = compiler.compile(load("mobilenet_layer", size=6, inputs=2, outputs=1), memory="dual-port", array="8x8")
    netlist = design.physical.netlist
    assert [edge.sink for edge in netlist.edges
            if edge.source.node == "in_depthwise_delay0" and isinstance(netlist.nodes[edge.sink.node], MemNode)]


def test_delays_of_the_bit_of_a_merge_are_followed() -> None:
    """Its table is so far ahead of it that units pass the bit on."""
    program = parse_scop(random_triangle(Random(444), 6), "f.c")
    design = compiler.compile(program, memory="pub", array="16x24")
    passing = [n.config for n in design.physical.netlist.nodes.values() if isinstance(n, PeNode)]
    assert any(config.op == "lut3" and config.bit_constants == (None, 0, 0) for config in passing)
