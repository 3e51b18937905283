"""Pipelines of the package `halide`: the interpreter computes what Halide computes."""

from __future__ import annotations

import numpy as np
import pytest

hl = pytest.importorskip("halide")

from halide_check import check_pipeline  # noqa: E402

U8, U16, U32, I8, I16, I32 = hl.UInt(8), hl.UInt(16), hl.UInt(32), hl.Int(8), hl.Int(16), hl.Int(32)
x, y, c, k = (hl.Var(name) for name in ("x", "y", "c", "k"))
xo, yo, xi, yi = (hl.Var(name) for name in ("xo", "yo", "xi", "yi"))
SIZES = [13, 7]


def image(type=U8, name="image", dimensions=2):
    return hl.ImageParam(type, dimensions, name)


def func(name, at, value):
    made = hl.Func(name)
    made[at] = value
    return made


def cast(type, value):
    return hl.cast(type, value)


# Pure Funcs, stored and in place.


@pytest.mark.parametrize("stored", [False, True])
def test_brighten_and_blur(stored):
    source = image(U16)
    bright = func("bright", (x, y), source[x, y] * 2)
    blur = func("blur", (x, y), (bright[x, y] + bright[x + 1, y] + bright[x, y + 1] + bright[x + 1, y + 1]) // 4)
    if stored:
        bright.compute_root()
    loaded = check_pipeline(blur, SIZES)
    assert len(loaded.program.statements) == (2 if stored else 1)
    assert loaded.program.array("image").shape == (8, 14)


def test_regions_below_zero():
    source = image()
    wide = func("wide", (x, y), cast(U16, source[x - 2, y + 3]) + x)
    wide.compute_root()
    loaded = check_pipeline(func("out", (x, y), wide[x - 1, y] + wide[x + 1, y - 2]), SIZES)
    assert loaded.translation.origins["image"] == (-3, 1)
    assert loaded.translation.origins["wide"] == (-1, -2)


@pytest.mark.parametrize("condition", ["repeat_edge", "constant_exterior", "repeat_image", "mirror_image",
                                       "mirror_interior"])
def test_boundary_conditions(condition):
    source = image()
    more = (7,) if condition == "constant_exterior" else ()
    bounded = getattr(hl.BoundaryConditions, condition)(source, *more)
    total = sum((cast(U16, bounded[x + dx, y + dy]) for dx in (-2, 0, 3) for dy in (-1, 0, 2)), cast(U16, 0))
    check_pipeline(func("out", (x, y), total), SIZES, inputs={"image": [13, 7]})


def test_demosaic():
    raw = image(U16)
    there = raw[x // 2 * 2, y // 2 * 2]
    value = hl.select((x % 2 == 0) & (y % 2 == 0), there, (x % 2 == 1) | (y < 3), there + raw[x, y], raw[x, y])
    check_pipeline(func("out", (x, y), value), SIZES)


def test_up_and_down():
    source = image()
    down = func("down", (x, y), (cast(U16, source[2 * x, 2 * y]) + source[2 * x + 1, 2 * y + 1]) // 2)
    up = func("up", (x, y), (down[x // 2, y // 2] + down[(x + 1) // 2, (y + 1) // 2]) // 2)
    down.compute_root()
    check_pipeline(up, SIZES)


def test_transposed_and_flipped():
    source = image(I16)
    check_pipeline(func("out", (x, y), source[y, 12 - x]), SIZES)


def test_three_dimensions_and_none():
    source = image(dimensions=3)
    check_pipeline(func("out", (x, y, c), source[x, y, 2 - c] // (c + 1)), [5, 4, 3])
    made = hl.Func("single")
    made[()] = cast(U16, source[1, 2, 0]) + 5
    check_pipeline(made)


# Arithmetic.


@pytest.mark.parametrize("type", [U8, I8, U16, I16, U32, I32, hl.UInt(64), hl.Int(64)])
def test_operators(type):
    a, b = image(type, "a", 1), image(type, "b", 1)
    p, q = a[x], b[x]
    values = [p + q, p - q, p // q, p % q, p // 7, p % 7, hl.min(p, q), hl.max(p, q), p // 8, p % 8, (p < q) | (p == 3),
              hl.select(p >= q, p, q + 1), ~p, p & q, p | q, p ^ q, hl.absd(p, q)]
    values += [p * q] if type.bits() < 32 or type.is_uint() else [p * 3]
    values += [p // -7, p % -7, hl.abs(p), p // -8] if type.is_int() else [p // 200]
    outputs = [func(f"out{n}", (x,), value) for n, value in enumerate(values)]
    check_pipeline(outputs, [61], limit=min(1 << 20, (1 << type.bits() - 1) - 1) if type.bits() > 16 else 1 << 16)


def test_conditions_select_conditions():
    """All eight cases of three bits, of which one says which of the others counts."""
    a, b, c = (image(U8, name, 1) for name in "abc")
    chosen = hl.select(a[x] > 3, b[x] > 5, c[x] % 3 == 1)
    check_pipeline([func("word", (x,), hl.select(chosen, cast(U8, 7), cast(U8, 2))), func("bit", (x,), chosen)], [61],
                   limit=9)


def test_division_by_small_numbers_of_both_signs():
    a, b = image(I8, "a", 1), image(I8, "b", 1)
    small = hl.clamp(b[x], cast(I8, -2), cast(I8, 2))
    check_pipeline([func("quotient", (x,), a[x] // small), func("rest", (x,), a[x] % small)], [200])


@pytest.mark.parametrize("type", [U8, I8, U16, I16, I32])
def test_shifts(type):
    a, b = image(type, "a", 1), image(I8, "b", 1)
    amount = hl.clamp(b[x], cast(I8, -7), cast(I8, 7))
    values = [a[x] >> 3, a[x] << 2, a[x] >> cast(U8, hl.abs(amount)), a[x] << cast(type, hl.abs(amount))]
    values += [a[x] << cast(I32, amount)] if type.is_int() and type.bits() == 32 else []
    check_pipeline([func(f"out{n}", (x,), value) for n, value in enumerate(values)], [61], limit=100)


@pytest.mark.parametrize("type", [U8, I8, U16, I16, U32, I32])
def test_fixed_point_functions(type):
    a, b = image(type, "a", 1), image(type, "b", 1)
    p, q = a[x], b[x]
    names = ["saturating_add", "saturating_sub", "halving_add", "halving_sub", "rounding_halving_add", "widening_add",
             "widening_sub", "widening_mul"]
    values = [getattr(hl, name)(p, q) for name in names if hasattr(hl, name)]
    values += [hl.saturating_cast(target, p) for target in (U8, I8, U16, I16)]
    values += [hl.rounding_shift_right(p, cast(type, 3)), hl.mul_shift_right(p, q, cast(U32, 5))]
    values += [hl.popcount(p), hl.count_leading_zeros(p), hl.count_trailing_zeros(p)]
    check_pipeline([func(f"out{n}", (x,), value) for n, value in enumerate(values)], [61], limit=1 << 30)


def test_conversions():
    a = image(I32, "a", 1)
    types = [U8, I8, U16, I16, U32, hl.Int(64), hl.UInt(64), hl.Bool()]
    check_pipeline([func(f"out{n}", (x,), cast(I32, cast(type, a[x]))) for n, type in enumerate(types)], [61])


def test_floating_point_numbers():
    a, b = image(hl.Float(32), "a", 1), image(hl.Float(32), "b", 1)
    p, q = a[x], b[x]
    values = [p + q, p * 1.5 - q / 3, hl.min(p, q), hl.max(p, q), hl.select(p < q, p, -q), hl.abs(p),
              cast(hl.Float(32), cast(I32, p)), cast(I16, p * q)]
    check_pipeline([func(f"out{n}", (x,), value) for n, value in enumerate(values)], [61])


def test_values_of_coordinates():
    source = image()
    check_pipeline(func("out", (x, y), cast(I32, source[x, y]) + x * 100 - y * y + cast(U8, x * 30)), SIZES)


# Updates.


def test_sums_maxima_and_products_of_matrices():
    source = image()
    window = hl.RDom([(-1, 3), (-1, 3)], "window")
    shifted = source[x + window.x, y + window.y]
    check_pipeline(func("total", (x, y), hl.sum(cast(U16, shifted))), SIZES)
    check_pipeline(func("largest", (x, y), hl.maximum(shifted)), SIZES)
    a, b = image(I16, "a"), image(I16, "b")
    r = hl.RDom([(0, 5)], "r")
    product = func("product", (x, y), 0)
    product[x, y] += cast(I32, a[r.x, y]) * b[x, r.x]
    check_pipeline(product, [6, 4])


def test_scans_and_scattered_writes():
    source = image(U16, dimensions=1)
    r = hl.RDom([(1, 12)], "r")
    scan = func("scan", (x,), cast(U32, source[x]))
    scan[r.x] = scan[r.x - 1] + scan[r.x]
    check_pipeline(scan, [13])
    spread = func("spread", (x,), cast(U16, 0))
    spread[2 * r.x - 2] = source[r.x]
    check_pipeline(spread, [24])


def test_triangles_and_conditions_on_data():
    source = image(I32)
    r = hl.RDom([(0, 7), (0, 7)], "r")
    r.where(r.x <= r.y)
    triangle = func("triangle", (x,), 0)
    triangle[x] += source[r.x, r.y] * (x + 1)
    check_pipeline(triangle, [3])
    d = hl.RDom([(0, 9)], "d")
    d.where(source[d.x, 0] > 3)
    chosen = func("chosen", (x,), 0)
    chosen[x] += source[d.x, x]
    check_pipeline(chosen, [5])


def test_tuples():
    source = image(dimensions=1)
    r = hl.RDom([(0, 9)], "r")
    best = hl.argmax(source[r.x + x])
    check_pipeline(func("out", (x,), (best[0] * 256) + best[1]), [6])
    pair = hl.Func("pair")
    pair[x] = (cast(U16, source[x]), cast(U16, source[x + 1]) * 2)
    check_pipeline(pair, [9])
    swapped = hl.Func("swapped")
    swapped[x] = (cast(U16, source[x]), cast(U16, source[x] + 1))
    swapped[x] = (swapped[x][1], swapped[x][0] + swapped[x][1])
    check_pipeline(swapped, [9])


def test_several_updates_of_a_part():
    source = image()
    made = func("made", (x, y), cast(U16, source[x, y]))
    made[x, 0] = made[x, 1] + 1
    made[2, y] += made[3, y]
    check_pipeline(made, SIZES)
    check_pipeline(func("user", (x, y), made[x, y] + made[x + 1, y]), SIZES)


def test_parameters_are_numbers_or_inputs():
    source = image()
    known, unknown = hl.Param(U8, "known", 3), hl.Param(U8, "unknown")
    loaded = check_pipeline(func("out", (x, y), source[x, y] * known + unknown), SIZES)
    assert [array.name for array in loaded.program.inputs] == ["image", "unknown"]
    given = check_pipeline(func("out", (x, y), source[x, y] * known), SIZES)
    assert [array.name for array in given.program.inputs] == ["image"]


def test_buffers_are_tables():
    source = image()
    numbers = np.arange(256, dtype=np.uint8)[::-1].copy()
    curve = hl.Buffer(numbers, "curve")
    weights = np.array([[1, 2, 1], [2, 4, 2]], np.uint8)
    kernel = hl.Buffer(weights, "kernel")
    r = hl.RDom([(0, 3), (0, 2)], "r")
    filtered = func("filtered", (x, y), hl.sum(cast(U16, curve[source[x + r.x, y + r.y]]) * kernel[r.x, r.y]))
    check_pipeline(filtered, SIZES)


# Schedules change nothing.


def _blur():
    source = image()
    across = func("across", (x, y), (cast(U16, source[x, y]) + source[x + 1, y] + source[x + 2, y]) // 3)
    down = func("down", (x, y), cast(U8, (across[x, y] + across[x, y + 1] + across[x, y + 2]) // 3))
    return across, down


def _tiled(across, down):
    down.tile(x, y, xo, yo, xi, yi, 8, 4).vectorize(xi, 4).parallel(yo)
    across.compute_at(down, xo).vectorize(x, 4)


def _fused(across, down):
    down.fuse(x, y, k).split(k, xo, xi, 5, hl.TailStrategy.GuardWithIf)
    across.compute_root().reorder(y, x)


def _stored(across, down):
    down.split(y, yo, yi, 3, hl.TailStrategy.GuardWithIf).reorder(yi, x, yo).unroll(yi)
    across.store_root().compute_at(down, yo)


def _renamed(across, down):
    down.rename(x, xo)
    across.compute_root().split(x, xo, xi, 4).split(xi, yo, yi, 2)


@pytest.mark.parametrize(("schedule", "loops"), [(_tiled, ("y", "x")), (_fused, ("y", "x")), (_stored, ("y", "x")),
                                                 (_renamed, ("y", "x"))])
def test_schedules(schedule, loops):
    across, down = _blur()
    schedule(across, down)
    loaded = check_pipeline(down, SIZES)
    assert loaded.program.statement("down_pure").iterators == loops
    assert len(loaded.program.statements) == 2
