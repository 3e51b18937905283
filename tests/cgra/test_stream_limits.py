"""Pictures that do not fit the global buffer are cut into tiles."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import compiler
from compiler.bind.cgra.overlapping_tiles import first_tiles
from compiler.cli.input_files import random_inputs
from compiler.frontend.apps import load
from compiler.frontend.c_scop import load_c
from compiler.ir.interpret import interpret
from hw.errors import SluiceError

TRISOLV = Path("apps") / "polybench" / "trisolv.c"


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


def test_a_matrix_in_order_that_banks_cannot_count(tmp_path):
    """The refusal of the whole matrix, not that of its tiles, which cannot do either; and what it recommends works."""
    program = load_c(TRISOLV, N=4096)
    with pytest.raises(SluiceError) as error:
        compiler.compile(program, target="cgra", array="16x32")
    assert str(error.value) == (
        "array L, which statement 'S1' (apps/polybench/trisolv.c:14) reads: a tile of 16777216 words passes the global "
        "buffer, of which a bank counts up to 16777215; compute it in runs of fewer iterations of the outermost loop, "
        "or have a larger time_width in the global buffer and the memories (--hardware)")
    counting = tmp_path / "array.toml"
    counting.write_text("rows = 16\ncolumns = 32\n[glb]\nhalf_words = 32768\ntime_width = 26\n"
                        "[mem]\ntime_width = 26\ndepth = 1024\n")
    design = compiler.compile(program, target="cgra", hardware=str(counting))
    assert design.predicted_start_to_done <= 1.05 * design.lower_bound


def test_a_memory_is_not_read_before_the_start():
    """The first fetches of x, of which nothing is there yet, would come in cycle -2: the second try fits."""
    start = time.process_time()
    design = compiler.compile(load_c(TRISOLV, N=64), target="cgra", array="16x32")
    assert design.predicted_start_to_done <= 17100 and time.process_time() - start < 20


def test_rows_that_no_wide_word_fits_name_the_memories_that_take_them():
    """The diagonal of rows that are no whole numbers of wide words."""
    with pytest.raises(SluiceError) as error:
        compiler.compile(load_c(TRISOLV, N=1001), target="cgra", array="16x32")
    assert str(error.value) == (
        "statement 'S2' (apps/polybench/trisolv.c:15) reads 'L' in an order that is no loop nest with constant "
        "strides, as pub memory tiles need; give each part of the order a loop of its own, or take target fpga "
        "or dataflow; use --memory dual-port")
