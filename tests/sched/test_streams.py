"""Staging of main-memory traffic: the program stays the same, tiles touch the boxes that footprints say."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import islpy as isl
import numpy as np
import pytest
from hypothesis import given, settings
from random_programs import programs

from compiler.cli.input_files import random_inputs
from compiler.frontend.apps import applications
from compiler.frontend.loop_nest import Prog, load, prog
from compiler.ir.interpret import interpret
from compiler.ir.points import enumerate_points, evaluate_map
from compiler.ir.program import Program
from compiler.ir.verify import verify
from compiler.passes.arrays.partition import partition
from compiler.passes.normalize.static_form import drain_accumulators, propagate_constants
from compiler.sched.streams.streams import Footprint, StagedProgram, StreamError, choose_tile_depth, stage_streams

HERE = str(Path(__file__).relative_to(Path(__file__).resolve().parents[2]))
SMALL: dict[str, dict[str, int]] = {
    "brighten_blur": {"tiles": 3, "size": 6}, "gaussian": {"width": 9, "height": 7},
    "conv_3_3": {"width": 7, "height": 9}, "cascade": {"width": 9, "height": 8}, "upsample": {"width": 5, "height": 4},
    "gaussian_tiled": {"width": 14, "height": 8, "tile": 3}, "fir": {"CHANNELS": 3, "N": 12}, "sobel": {"H": 6, "W": 7},
}
REDUCTIONS: dict[str, dict[str, int]] = {
    "gemm": {"size": 8, "unroll": 4},
    "resnet_layer": {"size": 10, "inputs": 8, "outputs": 4, "unroll_in": 4, "unroll_out": 2},
    "sr_cnn": {"size": 6, "channels": 8, "features": 4, "unroll": 4},
}
"""They sum in several statements, and a tile's boxes hold more than one of them writes: only results are compared."""
SHARED = {"brighten_blur": 1, "gaussian_tiled": 3, "resnet_layer": 2, "sobel": 1}
"""Loops that the statements of an application share, if it is not a single nest of two."""


def line_of(text: str) -> int:
    """Number of the line of this file that ends with `text` as a comment."""
    lines = Path(__file__).read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if line.endswith(f"# {text}"))


def require_same(program: Program, staged: StagedProgram, seed: int = 3) -> None:
    verify(staged.program)
    inputs = random_inputs(program, seed)
    wanted, got = interpret(program, inputs), interpret(staged.program, inputs)
    assert wanted.keys() == got.keys()
    for name in wanted:
        np.testing.assert_array_equal(got[name], wanted[name])


def require_footprints(program: Program, staged: StagedProgram) -> None:
    """Every element that a tile touches lies in its box; of outputs, exactly the box is written."""
    for footprint in (*staged.inputs, *staged.outputs):
        for tile in np.ndindex(*staged.tile_counts):
            where = tuple(t + start for t, start in zip(tile, staged.tile_starts, strict=True))
            low = footprint.low_at(where)
            box = set(product(*(range(a, a + n) for a, n in zip(low, footprint.extents, strict=True))))
            touched = {i for access in accesses(program, footprint.array, where) for i in access}
            assert touched <= box
            if program.array(footprint.array).role == "output":
                assert touched == box
                (written,) = accesses(program, footprint.array, where)
                require_steps(staged.program, footprint, written, low, len(where))


def accesses(program: Program, array: str, tile: tuple[int, ...]) -> list[list[tuple[int, ...]]]:
    """For each access of `array` the elements that one tile touches, in the order of the statement's nest."""
    found = []
    for statement in program.statements:
        for access in (*statement.reads, statement.write):
            if access.array == array:
                domain = statement.domain
                for k, value in enumerate(tile):
                    domain = domain.fix_val(isl.dim_type.set, k, value)
                count, columns = enumerate_points(domain)
                image = evaluate_map(access.map, domain, columns, count)
                found.append(list(zip(*(column.tolist() for column in image), strict=True)))
    return found


def require_steps(program: Program, footprint: Footprint, written: list[tuple[int, ...]], low: tuple[int, ...],
                  depth: int) -> None:
    """The nest of `steps` and `first` enumerates the packed box in the order in which the statement writes it."""
    bounds = list((program.statement(footprint.statement).box() or {}).values())[depth:]
    trips = [last - first + 1 for first, last in bounds]
    packed = [sum(i * s for i, s in zip(index, footprint.steps, strict=True)) + footprint.first
              for index in np.ndindex(*trips)]
    words = [[i - a for i, a in zip(element, low, strict=True)] for element in written]
    assert packed == [int(np.ravel_multi_index(index, footprint.extents)) for index in words]


@pytest.mark.parametrize("name", applications())
def test_every_application_stays_the_same(name: str) -> None:
    """At every depth that its streams allow. Row by row, an upsampled input does not move affinely."""
    sizes = SMALL.get(name, REDUCTIONS.get(name, {}))
    program = partition(drain_accumulators(propagate_constants(load(name, **sizes)))).program
    deepest = SHARED.get(name, 1 if len(program.statements) == 1 else 0)
    for depth in range(deepest + 1):
        if (name, depth) == ("upsample", 1):
            continue
        staged = stage_streams(program, depth)
        require_same(program, staged)
        if name in SMALL:
            require_footprints(program, staged)
    with pytest.raises(StreamError) as error:
        stage_streams(program, deepest + 1)
    assert str(error.value) == (f"{deepest + 1} tile loops were asked for, but statements share {deepest} independent "
                                "outer loops (not counting the innermost)")


@settings(max_examples=15, deadline=None)
@given(programs(largest=7))
def test_random_programs_stay_the_same(program: Program) -> None:
    depths = {choose_tile_depth(program, 1 << 16), int(program.statements[0].iterators[0] == "t")}
    for depth in depths:
        staged = stage_streams(program, depth)
        require_same(program, staged)
        require_footprints(program, staged)


def test_footprints_of_overlapping_tiles() -> None:
    staged = stage_streams(load("gaussian_tiled", width=14, height=8, tile=3), 2)
    assert (staged.tile_counts, staged.tiles) == ((2, 4), 8)
    assert staged.inputs == (Footprint("input", "load_input", (((3, 0), 0), ((0, 3), 0)), (5, 5), (5, 1)),)
    assert staged.outputs == (Footprint("output", "Gaussian", (((3, 0), 0), ((0, 3), 0)), (3, 3), (3, 1)),)
    assert staged.inputs[0].words == 25
    assert staged.inputs[0].low_at((1, 2)) == (3, 6)


def test_names_of_the_user_are_kept() -> None:
    """Loops, statements and arrays that are called like the ones that staging adds."""
    prg = prog("clash")
    prg.add_input("a", shape=(4, 6))
    prg.add_output("b")
    tile = prg.add_loop("i1", 0, 4)
    op = tile.add_loop("x", 0, 6).add_op("load_a")
    op.add_load("a", "x", "i1")
    op.add_store("a__tile", "x", "i1")
    last = tile.add_loop("x", 0, 6).add_op("Second")
    last.add_function(lambda p, q: p + q)
    last.add_load("a__tile", "x", "i1")
    last.add_load("a", "x", "i1")
    last.add_store("b", "x", "i1")
    program = prg.build()
    staged = stage_streams(program, 1)
    require_same(program, staged)
    assert [s.name for s in staged.program.statements] == ["load_a_", "load_a", "Second"]
    assert staged.program.statements[0].iterators == ("i1", "i1_")


def test_tile_loops_may_start_anywhere() -> None:
    prg = prog("late")
    prg.add_input("a", shape=(12,))
    prg.add_output("b", shape=(8,))
    op = prg.add_loop("t", -1, 4).add_loop("x", 2, 2).add_op("Copy")
    op.add_load("a", "2*t + x + 3")
    op.add_store("b", "2*t + x")
    program = prg.build()
    staged = stage_streams(program, 1)
    assert (staged.tile_starts, staged.tile_counts) == ((-1,), (4,))
    require_same(program, staged)
    require_footprints(program, staged)


def test_a_program_without_inputs_has_only_output_streams() -> None:
    prg = prog("fill")
    prg.add_output("b")
    op = prg.add_loop("x", 0, 5).add_op("Fill")
    op.add_function(lambda: 7)
    op.add_store("b", "x")
    program = prg.build()
    staged = stage_streams(program, 0)
    assert (staged.inputs, len(staged.outputs)) == ((), 1)
    require_same(program, staged)


def test_tile_loops_are_as_few_as_fit() -> None:
    program = load("gaussian_tiled", width=14, height=8, tile=3)
    sizes = {112: 0, 111: 1, 70: 1, 69: 2, 25: 2, 24: 3, 15: 3}
    assert {words: choose_tile_depth(program, words) for words in sizes} == sizes


def fails(program: Program, half_words: int = 1000) -> str:
    with pytest.raises(StreamError) as error:
        choose_tile_depth(program, half_words)
    return str(error.value)


def test_a_stream_that_never_fits_is_named_with_its_size() -> None:
    assert fails(load("cascade"), 4095) == (
        "array input, which statement 'Conv1' (apps/cascade.py:28) reads: a tile of 4096 words does not fit the global "
        "buffer's 4095 words per half; add tile loops around all statements")
    assert fails(load("upsample", width=8, height=8), 10) == (
        "array output, which statement 'Upsample' (apps/upsample.py:20) writes: a tile of 256 words does not fit the "
        "global buffer's 10 words per half; add tile loops around all statements")
    assert fails(load("gaussian_tiled", width=14, height=8, tile=3), 14) == (
        "array input, which statement 'Gaussian' (apps/gaussian_tiled.py:42) reads: a tile of 15 words does not fit "
        "the global buffer's 14 words per half; add tile loops around all statements")


def test_an_output_has_one_writer() -> None:
    prg = prog("sparse")
    prg.add_input("a", shape=(8,))
    prg.add_output("b", shape=(8,))
    for parity in range(2):
        op = prg.add_loop("x", 0, 4).add_op(f"Copy{parity}")
        op.add_load("a", f"2*x + {parity}")
        op.add_store("b", f"2*x + {parity}")
    assert fails(prg.build()) == "output b must be written by one statement, not 2 (Copy0, Copy1)"


def one_copy(*addresses: str, trips: tuple[int, ...]) -> Program:
    """A program that copies an 8 x 8 array through the given addresses, fastest first, in loops a, b, ..."""
    prg = prog("walk")
    prg.add_input("in", shape=(8, 8))
    prg.add_output("out", shape=(8, 8))
    loop: Prog = prg
    for name, count in zip("abcd", trips, strict=False):
        loop = loop.add_loop(name, 0, count)
    op = loop.add_op("Copy")
    op.add_load("in", *addresses)
    op.add_store("out", *addresses)
    return prg.build()


@pytest.mark.parametrize(("addresses", "trips", "steps", "first"), [
    (("b", "a"), (8, 8), (8, 1), 0),
    (("a", "b"), (8, 8), (1, 8), 0),
    (("4*b + c", "a"), (8, 2, 4), (8, 4, 1), 0),
    (("b + 2*c", "a"), (8, 2, 4), (8, 1, 2), 0),
    (("7 - b", "7 - a"), (8, 8), (-8, -1), 63),
])
def test_any_affine_order_of_writing_will_do(addresses: tuple[str, ...], trips: tuple[int, ...],
                                             steps: tuple[int, ...], first: int) -> None:
    program = one_copy(*addresses, trips=trips)
    staged = stage_streams(program, 0)
    require_footprints(program, staged)
    (footprint,) = staged.outputs
    assert (footprint.steps, footprint.first) == (steps, first)


def test_an_output_in_swapped_order_is_refused() -> None:
    """The average step is one, but neighbours are swapped: a bank could not walk it."""
    prg = prog("swap")
    prg.add_input("a", shape=(8,))
    prg.add_output("b")
    op = prg.add_loop("x", 0, 8).add_op("Copy")
    op.add_load("a", "x")
    op.add_store("b", "4*(x // 2) + 1 - x")  # swapped pairs
    assert fails(prg.build()) == (
        f"output b: statement 'Copy' ({HERE}:{line_of('swapped pairs')}) must walk it affinely")


def test_an_output_is_written_once_per_tile() -> None:
    prg = prog("again")
    prg.add_input("a", shape=(3, 8))
    prg.add_output("b")
    op = prg.add_loop("y", 0, 3).add_loop("x", 0, 8).add_op("Copy")
    op.add_load("a", "x", "y")
    op.add_store("b", "x")  # three times
    program = prg.build()
    with pytest.raises(StreamError) as error:
        stage_streams(program, 0)
    assert str(error.value) == (f"output b: statement 'Copy' ({HERE}:{line_of('three times')}) does not write each "
                                "element of a box exactly once per tile")
    assert choose_tile_depth(program, 100) == 1


def test_a_tile_must_move_affinely() -> None:
    """Two tiles in a row read the same pair of rows: the average step is one row per tile, but it is not affine."""
    prg = prog("jumps")
    prg.add_input("a", shape=(8, 8))
    prg.add_output("b")
    op = prg.add_loop("t", 0, 8).add_loop("x", 0, 8).add_op("Copy")
    op.add_load("a", "x", "2*(t // 2)")
    op.add_store("b", "x", "t")
    program = prg.build()
    with pytest.raises(StreamError) as error:
        stage_streams(program, 1)
    assert str(error.value) == "array a: the part that a tile touches does not move affinely with the tile loops"
    assert choose_tile_depth(program, 64) == 0


def two_stages(row: str) -> Program:
    """Tiles of one row; the second stage reads row `row` of the first."""
    prg = prog("carried")
    prg.add_input("a", shape=(4, 8))
    prg.add_output("c")
    t = prg.add_loop("t", 0, 4)
    op = t.add_loop("x", 0, 8).add_op("First")
    op.add_load("a", "x", "t")
    op.add_store("b", "x", "t")
    last = t.add_loop("x", 0, 8).add_op("Second")
    last.add_load("b", "x", row)
    last.add_store("c", "x", "t")
    return prg.build()


def test_tiles_must_not_depend_on_each_other() -> None:
    assert choose_tile_depth(two_stages("t"), 8) == 1
    carried = two_stages("0")
    assert choose_tile_depth(carried, 32) == 0
    with pytest.raises(StreamError) as error:
        stage_streams(carried, 1)
    assert str(error.value) == ("1 tile loops were asked for, but statements share 0 independent outer loops "
                                "(not counting the innermost)")


@pytest.mark.parametrize("depth", [-1, 2])
def test_the_depth_must_exist(depth: int) -> None:
    with pytest.raises(StreamError) as error:
        stage_streams(load("brighten_blur", tiles=2, size=4), depth)
    assert str(error.value) == (f"{depth} tile loops were asked for, but statements share 1 independent outer loops "
                                "(not counting the innermost)")


def test_tile_loops_must_have_the_same_bounds() -> None:
    program = two_stages("t")
    first = program.statement("First")
    longer = replace(first, domain=isl.Set("{ First[t, x] : 0 <= t < 5 and 0 <= x < 8 }"))
    assert choose_tile_depth(replace(program, statements=(longer, program.statement("Second"))), 40) == 0
