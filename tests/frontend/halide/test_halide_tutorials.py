"""What Halide's tutorials teach, rebuilt: equal to Halide at two sizes."""

from __future__ import annotations

import pytest
from halide_check import check_pipeline

from compiler.bind.registry import compile_program
from compiler.frontend.halide import load_pipeline

hl = pytest.importorskip("halide")

U8, U16, I32 = hl.UInt(8), hl.UInt(16), hl.Int(32)
SIZES = [(9, 6), (16, 11)]
x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")


def func(name, args, value):
    made = hl.Func(name)
    made[args] = value
    return made


def brighter():
    """Lesson 2: an image half as bright again, saturated, in floating point."""
    image = hl.ImageParam(U8, 3, "image")
    value = hl.min(hl.cast(hl.Float(32), image[x, y, c]) * 1.5, 255.0)
    return func("bright", (x, y, c), hl.cast(U8, value)), [3]


def shown():
    """Lesson 4: values are printed and stores are traced, which hardware does not do."""
    image = hl.ImageParam(I32, 2, "image")
    every = func("every", (x, y), hl.print(image[x, y] + x, "<- at", x, y))
    some = func("some", (x, y), hl.print_when((x == 3) & (y == 2), every[x, y] * 2, "<- there"))
    last = func("last", (x, y), some[x, y] - 1)
    some.compute_root()
    some.trace_stores()
    last.trace_loads()
    return last, []


def ordered():
    """Lesson 5: loops in another order, in tiles, with lanes."""
    image = hl.ImageParam(I32, 2, "image")
    gradient = func("gradient", (x, y), image[x, y] + x + 3 * y)
    xo, yo, xi, yi = (hl.Var(name) for name in ("xo", "yo", "xi", "yi"))
    gradient.tile(x, y, xo, yo, xi, yi, 4, 2).reorder(yi, xi, xo, yo)
    return gradient, []


def blurred():
    """Lesson 7: in two passes, with the border repeated."""
    image = hl.ImageParam(U8, 3, "image")
    image.dim(0).set_bounds(0, 20)
    image.dim(1).set_bounds(0, 14)
    image.dim(2).set_bounds(0, 3)
    wide = func("wide", (x, y, c), hl.cast(U16, hl.BoundaryConditions.repeat_edge(image)[x, y, c]))
    across = func("across", (x, y, c), (wide[x - 1, y, c] + 2 * wide[x, y, c] + wide[x + 1, y, c]) / 4)
    across.compute_root()
    down = (across[x, y - 1, c] + 2 * across[x, y, c] + across[x, y + 1, c]) / 4
    return func("blurred", (x, y, c), hl.cast(U8, down)), [3]


def scheduled():
    """Lesson 8: a producer stored per strip of its consumer."""
    image = hl.ImageParam(I32, 2, "image")
    producer = func("producer", (x, y), image[x, y] * 3 - x)
    consumer = func("consumer", (x, y), (producer[x, y] + producer[x + 1, y] + producer[x, y + 1]
                                         + producer[x + 1, y + 1]) / 4)
    yo, yi = hl.Var("yo"), hl.Var("yi")
    consumer.split(y, yo, yi, 4)
    producer.store_at(consumer, yo).compute_at(consumer, yi)
    return consumer, []


def updated():
    """Lesson 9: a row and a column are overwritten, and a diagonal region is."""
    image = hl.ImageParam(I32, 2, "image")
    made = func("updated", (x, y), image[x, y] + y)
    made[x, 0] = made[x, 3] + 1
    made[0, y] = made[3, y] / 2
    r = hl.RDom([(0, 5), (0, 5)], "r")
    r.where(r.x + r.y < 5)
    made[r.x, r.y] += r.x * 7
    return made, []


def histogram():
    """Lesson 9: how often each value is there, and the sum of all below."""
    image = hl.ImageParam(U8, 2, "image")
    r, up = hl.RDom([(0, 7), (0, 5)], "r"), hl.RDom([(1, 255)], "up")
    counts = func("counts", (x,), hl.cast(I32, 0))
    counts[hl.cast(I32, image[r.x, r.y])] += 1
    total = func("total", (x,), counts[x])
    total[up.x] += total[up.x - 1]
    counts.compute_root()
    return total, None


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("lesson", [brighter, shown, ordered, blurred, scheduled, updated])
def test_lessons(lesson, size):
    pipeline, more = lesson()
    check_pipeline(pipeline, [*size, *more], limit=1 << 12)


@pytest.mark.parametrize("size", SIZES)
def test_regions_that_start_elsewhere(size):
    """Lesson 6."""
    pipeline, _ = ordered()
    loaded = check_pipeline(pipeline, [(-7, size[0]), (40, size[1])], limit=1 << 12)
    assert loaded.translation.origins["gradient"] == (-7, 40)


def test_what_is_printed_and_traced_is_listed():
    """Lesson 4."""
    pipeline, _ = shown()
    program = load_pipeline(pipeline, [7, 5]).program
    assert program.remarks == ("print (every, some) not used", "trace_loads (last) not used",
                               "trace_stores (some) not used")
    assert compile_program(program, "fpga").predicted_cycles


def test_histograms():
    check_pipeline(histogram()[0], [256])
