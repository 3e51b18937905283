"""Windows over resampled arrays share one stream; what they compute stays."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.bind.cgra.netlist import MemNode
from compiler.cli.input_files import random_inputs
from compiler.frontend.loop_nest import load, prog
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.passes.arrays.window_reuse import insert_window_copies
from compiler.sched.static.schedule import UNIT_II


def window(addresses: list[tuple[str, str]], size: int = 8, tiles: int = 1) -> Program:
    prg = prog("larger")
    prg.add_input("a", (tiles, size, size))
    prg.add_output("c")
    t = prg.add_loop("t", 0, tiles)
    first = t.add_loop("y", 0, size).add_loop("x", 0, size).add_op("Inner")
    first.add_load("a", "x", "y", "t")
    first.add_function(lambda a: a * 3)
    first.add_store("b", "x", "y")
    op = t.add_loop("y", 0, size).add_loop("x", 0, size).add_op("Window")
    for x, y in addresses:
        op.add_load("b", x, y)
    op.add_function(lambda *args: sum(args[1:], args[0]))
    op.add_store("c", "x", "y", "t")
    return prg.build()


@pytest.mark.parametrize("tiles", [1, 2])
def test_a_window_over_a_larger_image_is_copied_once(tiles: int) -> None:
    program = window([("(x + 1)//2", "(y + 1)//2"), ("x//2", "(y + 1)//2"), ("(x + 2)//2", "y//2")], tiles=tiles)
    shared = insert_window_copies(program)
    assert [s.name for s in shared.statements] == ["Inner", "Resample_b", "Window"]
    copy = shared.statement("Resample_b").box()
    assert copy is not None and list(copy.values())[1:] == [(-1, 8), (-1, 8)]
    data = random_inputs(program, 1)
    np.testing.assert_array_equal(interpret(shared, data)["c"], interpret(program, data)["c"])


@pytest.mark.parametrize("addresses", [
    [("x//2", "y")], [("x", "y"), ("x//2", "y")], [("x//2", "y"), ("x//3", "y")], [("x//2", "y"), ("x//2", "y")],
])  # fmt: skip
def test_other_reads_stay(addresses: list[tuple[str, str]]) -> None:
    program = window(addresses)
    assert insert_window_copies(program) is program


def test_the_laplacian_pyramid_needs_few_memories() -> None:
    design = compiler.compile(load("laplacian_pyramid", size=8), memory="pub", array="8x8")
    assert design.application.netlist.count(MemNode) == 5
    assert (design.schedule.pace, design.schedule.alignment) == (UNIT_II, 1)
