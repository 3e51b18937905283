"""Numbers of 16 and 64 bits: what Halide computes, each operation rounded once."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.frontend.halide import load_pipeline
from compiler.ir.interpret import interpret
from compiler.ir.types import FLOAT16, FLOAT64

hl = pytest.importorskip("halide")

x = hl.Var("x")
TYPES = {16: (hl.Float(16), np.float16, FLOAT16), 64: (hl.Float(64), np.float64, FLOAT64)}
SPECIAL = [0.0, -0.0, 0.5, 2.5, -3.5, np.inf, -np.inf, np.nan]
NUMBERS = np.concatenate([np.random.default_rng(2).normal(0, 30, 40), SPECIAL])
OPERATIONS = {
    "sum": lambda v: v * 2 + 1, "product": lambda v: v * v - v / 3, "least": lambda v: hl.min(v, hl.cast(v.type(), 3)),
    "whole": lambda v: hl.floor(v / 4) + hl.ceil(v) * hl.trunc(v / 3) + hl.round(v / 2),
    "root": lambda v: hl.sqrt(hl.abs(v)), "single": lambda v: hl.cast(hl.Float(32), v) / 7,
    "tests": lambda v: hl.select(hl.is_nan(v), 1, hl.select(hl.is_inf(v), 2, hl.cast(hl.Int(32), hl.is_finite(v)))),
}


@pytest.mark.parametrize("bits", TYPES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name, bits):
    type, dtype, ours = TYPES[bits]
    source, out = hl.ImageParam(type, 1, "source"), hl.Func("out")
    out[x] = OPERATIONS[name](source[x])
    # Halide 21 makes infinity of functions of a 16-bit number that is none.
    numbers = (NUMBERS[:-1] if bits == 16 and name in ("whole", "root") else NUMBERS).astype(dtype)
    loaded = load_pipeline(out, [len(numbers)])
    assert loaded.program.array("source").type == ours
    wanted = loaded.reference({"source": numbers})["out"]
    found = interpret(loaded.program, {"source": numbers.astype(ours.dtype)})["out"]
    np.testing.assert_array_equal(found, wanted)


def test_tables_that_halide_computes():
    """A Func without inputs, of 64 bits."""
    source, curve, out = hl.ImageParam(hl.UInt(8), 1, "source"), hl.Func("curve"), hl.Func("out")
    curve[x] = hl.exp(hl.cast(hl.Float(64), x) / 64)
    out[x] = curve[hl.cast(hl.Int(32), source[x])] * 0.5
    loaded = load_pipeline(out, [9])
    data = {"source": np.arange(0, 252, 28, dtype=np.uint8)}
    np.testing.assert_array_equal(interpret(loaded.program, data)["out"], loaded.reference(data)["out"])
