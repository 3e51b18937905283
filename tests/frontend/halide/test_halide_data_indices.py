"""Pipelines that read or write where data says, and constants that Halide computes."""

from __future__ import annotations

import numpy as np
import pytest

hl = pytest.importorskip("halide")

from halide_check import check_pipeline  # noqa: E402

from compiler.frontend.halide import PipelineError, from_pipeline  # noqa: E402

U8, U16, U32, I32, F32 = hl.UInt(8), hl.UInt(16), hl.UInt(32), hl.Int(32), hl.Float(32)
x, y, z, c = (hl.Var(name) for name in ("x", "y", "z", "c"))


def image(type=U8, dimensions=2, name="image"):
    return hl.ImageParam(type, dimensions, name)


def func(name, at, value):
    made = hl.Func(name)
    made[at] = value
    return made


def cast(type, value):
    return hl.cast(type, value)


def test_histograms_and_equalisation():
    source = image()
    r = hl.RDom([(0, 9), (0, 7)], "r")
    count = func("count", (x,), cast(U16, 0))
    count[cast(I32, source[r.x, r.y])] += cast(U16, 1)
    loaded = check_pipeline(count, [256])
    assert [memory.words for memory in loaded.program.memories] == [256]
    k = hl.RDom([(1, 255)], "k")
    below = func("below", (x,), cast(U16, count[x]))
    below[k.x] += below[k.x - 1]
    check_pipeline(func("equal", (x, y), cast(U8, below[cast(I32, source[x, y])] * 4)), [9, 7])


def test_reads_of_inputs_and_of_funcs():
    source, places = image(U16, 2), image(U8, 2, "places")
    there = cast(I32, places[x, y] % 9)
    stored = func("stored", (x, y), source[x, y] * 3)
    stored.compute_root()
    check_pipeline(func("out", (x, y), source[there, y] + stored[x + there - 4, y + 1]), [6, 5])


def test_levels_of_a_pyramid_that_data_choose():
    source = image(U8)
    levels = func("levels", (x, y, z), cast(U16, source[x, y]) * (z + 1))
    levels.compute_root()
    level = cast(I32, source[x, y]) // 64
    fraction = cast(U16, source[x, y] % 64)
    mixed = levels[x, y, level] * (64 - fraction) + levels[x, y, hl.min(level + 1, 3)] * fraction
    check_pipeline(func("out", (x, y), mixed // 64), [7, 5])


def test_bilateral_grids():
    source = image()
    r = hl.RDom([(0, 4), (0, 4)], "r")
    value = source[x * 4 + r.x, y * 4 + r.y]
    grid = hl.Func("grid")
    grid[x, y, z] = (cast(U16, 0), cast(U16, 0))
    level = cast(I32, value // 32)
    grid[x, y, level] = (grid[x, y, level][0] + value, grid[x, y, level][1] + 1)
    blurred = hl.Func("blurred")
    blurred[x, y, z] = (grid[x, y, z][0] + grid[x + 1, y, z][0], grid[x, y, z][1] + grid[x + 1, y, z][1])
    blurred.compute_root()
    here = cast(I32, source[x, y] // 32)
    sums = blurred[x // 4, y // 4, here]
    check_pipeline(func("out", (x, y), sums[0] // hl.max(sums[1], cast(U16, 1))), [8, 8])


def test_stores_on_conditions_of_data_and_coordinates():
    source = image(U8, 1)
    r = hl.RDom([(0, 20)], "r")
    r.where((source[r.x] > 40) & (r.x % 3 != 1))
    last = func("last", (x,), -1)
    last[cast(I32, source[r.x] // 8)] = r.x
    check_pipeline(last, [32])


def test_chains_through_an_array():
    source = image(U8, 1)
    r = hl.RDom([(1, 15)], "r")
    chain = func("chain", (x,), cast(U16, source[x]))
    chain[r.x] += chain[hl.clamp(cast(I32, chain[r.x - 1]), 0, r.x)]
    check_pipeline(chain, [16])


def test_tables_of_constant_funcs():
    source = image()
    curve = func("curve", (x,), cast(U8, hl.clamp(hl.pow(cast(F32, x) / 255.0, 0.5) * 255.0, 0.0, 255.0)))
    curve.compute_root()
    weights = func("weights", (x,), hl.exp(-cast(F32, x * x) / 8.0))
    r = hl.RDom([(-2, 5)], "r")
    total = hl.sum(cast(U16, cast(U16, weights[r.x] * 256.0)) * curve[cast(I32, source[x + r.x, y])])
    loaded = check_pipeline(func("out", (x, y), total), [9, 4])
    assert sorted(len(table.values) for table in loaded.program.tables) == [5, 256]


def test_large_tables_of_two_dimensions():
    source = image()
    both = hl.Buffer(np.arange(64, dtype=np.uint16).reshape(8, 8) * 7, "both")
    check_pipeline(func("out", (x, y), both[cast(I32, source[x, y] % 8), cast(I32, source[x, y] // 32)]), [9, 4])


def message(outputs, sizes=(8,)) -> str:
    with pytest.raises(PipelineError) as error:
        from_pipeline(outputs, sizes)
    return str(error.value)


def test_places_that_could_be_anywhere():
    source = image(I32, 1)
    assert message(func("out", (x,), source[source[x]])) == (
        "Func 'out': it accesses 'image' where data says, at -2147483648 to 2147483647 (argument 1): say between which "
        "numbers that is, with clamp")
    few = hl.Buffer(np.arange(4, dtype=np.uint8), "few")
    assert message(func("out", (x,), few[cast(I32, image(U8, 1)[x])])) == (
        "Func 'out': it reads buffer 'few' from 0 to 255 in dimension 0, which has elements 0 to 3: clamp the index")


def test_writes_outside_of_an_output():
    r = hl.RDom([(0, 20)], "r")
    count = func("count", (x,), cast(U16, 0))
    count[cast(I32, image(U8, 1)[r.x])] += cast(U16, 1)
    assert message(count) == ("Func 'count' is accessed from 0 to 255 in dimension 0 and has elements 0 to 7: make it "
                              "larger")
