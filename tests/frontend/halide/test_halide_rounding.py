"""Rounding, tests of floating-point numbers, and interpolation: what Halide computes, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from halide_check import check_pipeline

from compiler.frontend.halide import PipelineError, load_pipeline
from compiler.ir.interpret import interpret

hl = pytest.importorskip("halide")
x, y = hl.Var("x"), hl.Var("y")
NUMBERS = np.array([0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, -1.5, 0.49999997, 8388607.5, -8388607.5, 8388608, 1e30, -1e30,
                    np.inf, -np.inf, np.nan, 3.7, -3.7, 1e-40, 2147483648.0, -0.999999], np.float32)


@pytest.mark.parametrize("name", ["floor", "ceil", "round", "trunc", "is_nan", "is_inf", "is_finite"])
def test_functions_of_floating_point_numbers(name):
    source, out = hl.ImageParam(hl.Float(32), 1, "source"), hl.Func("out")
    value = getattr(hl, name)(source[x])
    out[x] = hl.select(value, hl.u8(1), hl.u8(0)) if name.startswith("is") else value
    loaded = load_pipeline(out, [len(NUMBERS)])
    found = interpret(loaded.program, {"source": NUMBERS})["out"]
    assert found.tobytes() == loaded.reference({"source": NUMBERS})["out"].tobytes()


@pytest.mark.parametrize("name", ["sqrt", "exp", "log", "sin", "cos"])
def test_functions_that_are_a_unit_off_at_most(name):
    source, out = hl.ImageParam(hl.Float(32), 1, "source"), hl.Func("out")
    out[x] = getattr(hl, name)(source[x])
    # Halide's logarithms of subnormal numbers are wrong.
    numbers = NUMBERS[(np.abs(NUMBERS) < 1e9) & (np.float32(1e-40) != NUMBERS)]
    loaded = load_pipeline(out, [len(numbers)])
    found, wanted = interpret(loaded.program, {"source": numbers})["out"], loaded.reference({"source": numbers})["out"]
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_array_max_ulp(found[~np.isnan(found)], wanted[~np.isnan(found)], maxulp=1)


@pytest.mark.parametrize(("type", "weights"), [
    (hl.UInt(8), hl.UInt(8)), (hl.Int(8), hl.UInt(8)), (hl.UInt(16), hl.UInt(8)), (hl.Int(16), hl.UInt(16)),
    (hl.Int(32), hl.UInt(8)), (hl.Float(32), hl.Float(32))], ids=str)
def test_lerp(type, weights):
    first, second = (hl.ImageParam(type, 2, name) for name in ("first", "second"))
    weight, out = hl.ImageParam(weights, 2, "weight"), hl.Func("out")
    out[x, y] = hl.lerp(first[x, y], second[x, y], weight[x, y])
    check_pipeline(out, [60, 40], limit=1 << 32)


@pytest.mark.parametrize("name", ["div_round_to_zero", "mod_round_to_zero"])
def test_division_towards_zero(name):
    first, second, out = hl.ImageParam(hl.Int(16), 1, "first"), hl.ImageParam(hl.Int(8), 1, "second"), hl.Func("out")
    out[x] = getattr(hl, name)(first[x], hl.cast(hl.Int(16), second[x] | 1))
    check_pipeline(out, [200])


def test_weights_that_are_too_wide_are_refused():
    source, out = hl.ImageParam(hl.UInt(8), 1, "source"), hl.Func("out")
    out[x] = hl.lerp(source[x], source[x + 1], hl.cast(hl.UInt(16), source[x]))
    with pytest.raises(PipelineError, match=r"^Func 'out': lerp of uint8 with a weight of 16 bits: cast the weight"):
        load_pipeline(out, [8])
