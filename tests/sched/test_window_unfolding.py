"""Rows that are loaded once for each step of a window: which words come when, and when they do not."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

import compiler
from compiler.analysis.dependences import constant_bounds
from compiler.cli.input_files import random_inputs
from compiler.frontend.apps import load
from compiler.frontend.loop_nest import prog
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.passes.normalize.static_form import static_form
from compiler.sched.static.schedule import UNIT_II
from compiler.sched.streams.streams import StagedProgram, stage_streams


def window(taps: int = 3, stride: int = 2, channels: int = 2, size: int = 7, first: int = 0) -> Program:
    """out[c][y][x] = sum over a window of rows and columns; one sum for several channels, so that inputs are used
    again."""
    reach = stride * (size - 1) + taps
    prg = prog("window")
    prg.add_input("a", shape=(reach, reach + first))
    prg.add_input("k", shape=(channels, taps, taps))
    prg.add_output("out")
    start = prg.add_loop("c", 0, channels).add_loop("y", 0, size).add_loop("x", 0, size).add_op("Start")
    start.add_function(lambda: 0)
    start.add_store("out", "x", "y", "c")
    nest = prg.add_loop("c", 0, channels).add_loop("ry", 0, taps).add_loop("rx", 0, taps)
    op = nest.add_loop("y", 0, size).add_loop("x", 0, size).add_op("Sum")
    op.add_function(lambda total, word, weight: total + word * weight)
    op.add_load("out", "x", "y", "c")
    op.add_load("a", f"{stride}*x + rx + {first}", f"{stride}*y + ry")
    op.add_load("k", "rx", "ry", "c")
    op.add_store("out", "x", "y", "c")
    return prg.build()


def staged(program: Program, windows: bool = True) -> StagedProgram:
    return stage_streams(static_form(program), 0, windows)


def loads(found: StagedProgram) -> dict[str, list[tuple[int, int]]]:
    """Bounds of the loops of loads, by array."""
    return {f.array: list(constant_bounds(found.program.statement(f.statement)).values()) for f in found.inputs}


def test_a_row_comes_once_for_each_step() -> None:
    program = window()
    found = staged(program)
    assert loads(found)["a"] == [(0, 14), (0, 2), (0, 6)], "rows, steps of the window, words of one step"
    (footprint,) = [f for f in found.inputs if f.array == "a"]
    assert footprint.steps == (15, 1, 2) and footprint.words == 15 * 15
    assert loads(staged(program, windows=False))["a"] == [(0, 14), (0, 14)]
    inputs = random_inputs(program, 1)
    np.testing.assert_array_equal(interpret(found.program, inputs)["out"], interpret(program, inputs)["out"])


@pytest.mark.parametrize(("program", "why"), [
    (window(channels=1, stride=1, taps=1), "there is no window"),
    (window(channels=1, taps=2, stride=3, size=4), "the load would take longer than the sums"),
])
def test_rows_come_once_where(program: Program, why: str) -> None:
    assert loads(staged(program)) == loads(staged(program, windows=False)), why


@pytest.mark.parametrize("first", [0, 1])
def test_windows_that_begin_elsewhere(first: int) -> None:
    program = window(first=first)
    inputs = random_inputs(program, 1)
    np.testing.assert_array_equal(interpret(staged(program).program, inputs)["out"], interpret(program, inputs)["out"])


def test_readers_that_move_differently_share_a_load_as_before() -> None:
    prg = prog("two")
    prg.add_input("a", shape=(16,))
    prg.add_output("b")
    prg.add_output("c")
    for name, step in (("b", 1), ("c", 2)):
        op = prg.add_loop("r", 0, 3).add_loop("x", 0, 5).add_op(f"Keep_{name}")
        op.add_load("a", f"{step}*x + r")
        op.add_store(name, "x", "r")
    assert loads(staged(prg.build())) == {"a": [(0, 10)]}


def test_a_layer_that_strides_reaches_its_bound_on_wide_fetches() -> None:
    """7 words of every other column: neither rows nor steps of the window are whole wide words."""
    layer = load("resnet_layer", size=7, stride=2, inputs=4, outputs=2, unroll_in=2, unroll_out=1)
    design = compiler.compile(layer, array="8x4", tile_depth=2)
    assert "input" in design.choices["loaded in the order of a window"]
    assert design.schedule.pace == UNIT_II and design.schedule.alignment == 1
    assert design.predicted_cycles <= design.lower_bound / 0.85
    words = {f.array: f.words for f in design.schedule.staged.inputs}
    trips = {f.array: prod(design.schedule.statements[f.statement].trips.values())
             for f in design.schedule.staged.inputs}
    assert any(trips[name] > words[name] for name in words)
