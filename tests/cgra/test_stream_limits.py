"""Pictures that do not fit the global buffer are cut into tiles."""

from __future__ import annotations

import time

import numpy as np
import pytest

import compiler
from compiler.bind.cgra.overlapping_tiles import first_tiles
from compiler.cli.input_files import random_inputs
from compiler.frontend.apps import load
from compiler.ir.interpret import interpret


def test_arrays_larger_than_the_buffer_are_cut_into_tiles():
    """As square as a power of two allows, rows shared out evenly; each with what it needs of the rows around it."""
    program = load("gaussian")
    design = compiler.compile(program, target="cgra", half_words=64)
    assert design.choices["transform"] == "overlap(y=3, x=8)" and design.schedule.staged.tiles == 168
    inputs = random_inputs(program, 1)
    tiles = design.parts.split(inputs)
    found = design.parts.join(interpret(design.parts.program, tiles), inputs)
    np.testing.assert_array_equal(found["output"], interpret(program, inputs)["output"])


@pytest.mark.parametrize(("extents", "most", "scripts"), [
    ((4096, 4096), 32768, ["overlap(y=128, x=256)", "overlap(y=256, x=128)"]),
    ((300, 100), 1024, ["overlap(y=30, x=32)", "overlap(y=60, x=16)"]),
    ((5000, 20), 1024, ["overlap(y=51)", "overlap(y=64, x=16)"]),
])
def test_shapes_of_tiles(extents, most, scripts):
    program = load("gaussian", width=extents[1] + 2, height=extents[0] + 2)
    assert [tiles.script for tiles in first_tiles(program, most)] == scripts


def test_smaller_tiles():
    tiles = next(first_tiles(load("gaussian", width=4098, height=4098), 32768))
    smaller = tiles.smaller(130 * 258, 32768)
    assert smaller is not None and smaller.script == "overlap(y=121, x=256)" and smaller.depth == 2
    assert smaller.smaller(1 << 20, 32768) is None


def test_pictures_whose_tiles_need_rows_of_their_neighbours():
    start = time.process_time()
    design = compiler.compile(load("harris", width=4096, height=4096), target="cgra", array="16x32")
    assert time.process_time() - start < 20
    assert design.choices["transform"].startswith("overlap(")
    assert 4096 ** 2 <= design.predicted_start_to_done <= 1.08 * 4096 ** 2


def test_pictures_of_more_words_than_a_bank_counts_are_taken_in_tiles():
    start = time.process_time()
    design = compiler.compile(load("conv_3_3", width=4096, height=4096), target="cgra", array="16x32")
    assert time.process_time() - start < 20
    assert 4096 ** 2 <= design.predicted_start_to_done <= 1.1 * design.lower_bound
