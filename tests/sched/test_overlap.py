"""Tiles that overlap: the same values for any size of tile, boxes where they fit, and what has no such tiles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import islpy as isl
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from compiler.cli.input_files import random_inputs
from compiler.frontend.loop_nest import load, prog
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.text import parse_program, print_program
from compiler.passes import directives as transform
from compiler.passes.arrays.partition import Partition
from compiler.passes.directives import TransformError
from compiler.passes.normalize.domain_padding import PaddedProgram, pad_to_bounding_boxes
from compiler.sched.verify import ValidationError, check_parts

APPS: list[tuple[str, dict[str, Any], tuple[str, str], tuple[int, int]]] = [
    ("gaussian", {"width": 20, "height": 14}, ("y", "x"), (5, 7)),
    ("harris", {"width": 20, "height": 20}, ("y_output", "x_output"), (5, 8)),
    ("unsharp", {"width": 20, "height": 18}, ("y", "x"), (5, 9)),
    ("gaussian_pyramid", {"size": 32}, ("y_output", "x_output"), (3, 2)),
    ("laplacian_pyramid", {"size": 16}, ("y", "x"), (8, 12)),
    ("cascade", {}, ("y", "x"), (16, 31)),
    ("upsample", {}, ("y", "x"), (24, 40)),
]


def same(before: Program, after: Program) -> None:
    inputs = random_inputs(before, 1)
    expected, found = interpret(before, inputs), interpret(after, inputs)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values)


@pytest.mark.parametrize(("app", "parameters", "iterators", "sizes"), APPS, ids=[app for app, *_ in APPS])
def test_applications_in_tiles(app: str, parameters: dict[str, Any], iterators: tuple[str, str],
                               sizes: tuple[int, int]) -> None:
    program = load(app, **parameters)
    tiled = transform.overlap(program, dict(zip(iterators, sizes, strict=True)))
    assert parse_program(print_program(tiled)) == tiled
    same(program, tiled)
    assert all(s.iterators[:2] == (f"{iterators[0]}_o", f"{iterators[1]}_o") for s in tiled.statements)
    growth = pad_to_bounding_boxes(tiled)
    if growth is not None:
        assert all(s.box() is not None for s in growth.after.statements)
        check_parts(Partition(growth.after, growth.after, (), growth=growth))
        parts = Partition(growth.after, growth.after, (), growth=growth)
        inputs = random_inputs(program, 2)
        outputs = parts.join(interpret(growth.after, parts.split(inputs)), inputs)
        for name, values in interpret(program, inputs).items():
            np.testing.assert_array_equal(outputs[name], values)


def test_intermediate_values_are_those_of_a_tile() -> None:
    tiled = transform.overlap(load("gaussian_pyramid", size=32), {"y_output": 2, "x_output": 4})
    assert {array.name: array.shape for array in tiled.arrays} == {
        "input": (32, 32), "output": (4, 4), "f1": (2, 1, 8, 16), "f2": (2, 1, 4, 8)}


@pytest.mark.parametrize(("app", "sizes", "message"), [
    ("gaussian", {"z": 4}, "statement 'Gaussian' .* writes an output and has no iterator 'z'; it has: y, x"),
    ("gaussian", {"y": 0}, "tiles of 0 iterations of 'y': there is at least 1"),
    ("gaussian", {}, "overlap needs the size of a tile for at least one iterator"),
    ("laplacian_pyramid", {"y": 7, "x": 8}, "the values of 'y' that a tile needs do not move evenly with the tiles; "
                                            "sizes that are multiples of all steps between the statements do"),
    ("gemm", {"y": 4}, "statement .* reads output .*, which tiles write only once"),
])
def test_what_has_no_such_tiles(app: str, sizes: dict[str, int], message: str) -> None:
    program = load(app, size=16) if app in ("laplacian_pyramid", "gemm") else load(app, width=16, height=16)
    with pytest.raises(TransformError, match=message):
        transform.overlap(program, sizes)


def test_random_chains_in_random_tiles() -> None:
    """Stages with random windows and steps; sizes are multiples of nothing."""

    @settings(max_examples=15, deadline=None, database=None, phases=[Phase.explicit, Phase.generate],
              suppress_health_check=list(HealthCheck))
    @given(st.data())
    def run(data: st.DataObject) -> None:
        prg = prog("stages")
        steps = data.draw(st.lists(st.integers(1, 2), min_size=1, max_size=3))
        size, sides = data.draw(st.integers(3, 9)), []
        windows = [data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=3,
                                      unique=True)) for _ in steps]
        for step, window in reversed(list(zip(steps, windows, strict=True))):
            sides.insert(0, size)
            size = (size - 1) * step + 1 + max(max(place) for place in window)
        prg.add_input("s0", shape=(size, size))
        prg.add_output(f"s{len(steps)}")
        for k, (step, window, side) in enumerate(zip(steps, windows, sides, strict=True)):
            op = prg.add_loop("y", 0, side).add_loop("x", 0, side).add_op(f"Stage{k}")
            op.add_function(lambda *words: sum(words[1:], words[0]) + 1)
            for x, y in window:
                op.add_load(f"s{k}", f"{step}*x + {x}", f"{step}*y + {y}")
            op.add_store(f"s{k + 1}", "x", "y")
        program = prg.build()
        tiled = transform.overlap(program, {"y": data.draw(st.integers(1, 9)), "x": data.draw(st.integers(2, 9))})
        same(program, tiled)

    run()


def test_boxes_that_would_disturb_others_are_not_filled() -> None:
    """The other triangle of an output is not the program's to write."""
    prg = prog("triangle")
    prg.add_input("a", shape=(6, 6))
    prg.add_output("b")
    op = prg.add_loop("y", 0, 6).add_loop("x", 0, 6).add_op("Half")
    op.add_load("a", "x", "y")
    op.add_store("b", "x", "y")
    program = prg.build()
    assert pad_to_bounding_boxes(program) is None
    (old,) = program.statements
    half = old.domain.intersect(isl.Set("{ Half[y, x] : x <= y }"))
    assert pad_to_bounding_boxes(replace(program, statements=(replace(old, domain=half),))) is None


def test_a_box_that_is_another_program_is_noticed() -> None:
    growth = pad_to_bounding_boxes(transform.overlap(load("gaussian", width=20, height=14), {"y": 5, "x": 7}))
    assert growth is not None
    (old,) = growth.after.statements
    moved = replace(old.reads[0], map=old.reads[1].map)
    for damaged, message in (
        (replace(old, reads=(moved, *old.reads[1:])), "its access to 'input' is another one on the whole box"),
        (replace(old, domain=old.domain.subtract(isl.Set("{ Gaussian[y_o, x_o, y, x] : y = 2 }"))),
         "computes something else on its whole box"),
    ):
        after = replace(growth.after, statements=(damaged,))
        with pytest.raises(ValidationError, match=message):
            check_parts(Partition(after, after, (), growth=PaddedProgram(growth.before, after)))
