"""Processing elements with bfloat16 on both simulators: every operation on hard operands, through cycles in which
nothing steps, against ml_dtypes; and the table's and the compiler's meanings against it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from float_reference import DTYPES, native_results

from compiler.ir.floating import apply_float, decode, encode, from_integers, to_integers
from compiler.ir.types import BFLOAT16, Int
from hw.float import Float
from hw.ops import Kind
from hw.pe import Pe, PeConfig, PeSpec
from hw.pe.bfloat16 import BFLOAT16_OPERATIONS
from hw.sim.bench import run_bench
from hw.verilog import convert

FORM = Float(8, 7)
HARD = (0x0000, 0x8000, 0x0001, 0x8001, 0x007F, 0x0080, 0x8080, 0x3F80, 0xBF80, 0x3F7F, 0x4000, 0x7F7F, 0xFF7F, 0x7F80,
        0xFF80, 0x7FC0, 0xFFC1, 0x7F81, 0x4700, 0xC700, 0x4F00, 0xCF00, 0x46FF, 0x477F)
"""Zeros, subnormal and least normal numbers, one and its neighbour, the largest, infinities, what is no number, and
around what integers of 16 and 32 bits hold."""
CONFIGURATIONS = [PeConfig(name) for name in BFLOAT16_OPERATIONS] + [PeConfig("itof", signed=True), PeConfig("select")]


def operands(seed: int, count: int) -> np.ndarray:
    """Rows of three words: pairs of hard ones, neighbours, any; the third one often cancels the product."""
    draw = np.random.default_rng(seed)
    shape = (count, 3)
    words = np.where(draw.random(shape) < 0.5, draw.choice(HARD, shape), draw.integers(0, 1 << 16, shape))
    near = (0x3C00 + draw.integers(0, 0x600, shape)) | (draw.integers(0, 2, shape) << 15)
    words = np.where(draw.random((count, 1)) < 0.5, near, words)
    twin = words[:, 0] ^ 0x8000 ^ draw.integers(0, 4, count)
    words[:, 1] = np.where(draw.random(count) < 0.15, twin, words[:, 1])
    product = native_results(FORM, "mul", [words[:, 0], words[:, 1]]).astype(np.int64) ^ 0x8000
    words[:, 2] = np.where(draw.random(count) < 0.3, product, words[:, 2])
    return words


@np.errstate(all="ignore")
def reference(config: PeConfig, rows: np.ndarray) -> np.ndarray:
    """Result words by ml_dtypes."""
    a, b, c = rows.T
    x, y = (word.astype(np.uint16).view(DTYPES[FORM]) for word in (a, b))
    name = config.op.removeprefix("f")
    match config.op:
        case "fmad":
            return native_results(FORM, "add", [native_results(FORM, "mul", [a, b]), c])
        case "fmin" | "fmax":
            better = x < y if name == "min" else x > y
            return np.where(np.isnan(y) | better, a, b)
        case "itof":
            whole = a.astype(np.int16 if config.signed else np.uint16)
            return whole.astype(DTYPES[FORM]).view(np.uint16)
        case "ftoi":
            wide = x.astype(np.float64)
            inside = np.abs(wide) < 2.0**31
            return np.where(inside, np.where(inside, wide, 0).astype(np.int64), 0) & 0xFFFF
        case "select":
            return b
    return native_results(FORM, name, [a, b])


def by_compiler(config: PeConfig, rows: np.ndarray) -> np.ndarray:
    """Result words by the interpreter's arithmetic: a product and then a sum for ``fmad``."""
    a, b, c = (decode(BFLOAT16, word) for word in rows.T)
    name = config.op.removeprefix("f")
    match config.op:
        case "itof":
            return encode(BFLOAT16, from_integers(BFLOAT16, Int(16, config.signed).wrap(rows[:, 0])))
        case "ftoi":
            return to_integers(Int(16), a).astype(np.int64) & 0xFFFF
        case "fmad":
            return encode(BFLOAT16, apply_float("add", BFLOAT16, [apply_float("mul", BFLOAT16, [a, b]), c]))
        case "select":
            return encode(BFLOAT16, apply_float("select", BFLOAT16, [np.zeros(len(a)), a, b]))
    found = apply_float(name, BFLOAT16, [a, b])
    return found if config.operation.result is Kind.BIT else encode(BFLOAT16, found)


@pytest.mark.parametrize("config", CONFIGURATIONS, ids=lambda config: f"{config.op}{config.signed:d}")
def test_the_table_and_the_compiler_mean_what_ml_dtypes_computes(config: PeConfig) -> None:
    rows = operands(1, 4000)
    expected = reference(config, rows).astype(np.int64)
    if config.op != "select":
        read = Int(16, config.signed).wrap(rows)
        arity = config.operation.arity
        table = np.asarray(config.operation.evaluate(16, *read.T[:arity])) & 0xFFFF
        assert (table == expected).all(), rows[table != expected][0]
    mine = by_compiler(config, rows)
    assert (mine == expected).all(), rows[mine != expected][0]


def test_operations(simulator: str) -> None:
    spec = PeSpec(bfloat16=True, add_cycles=3, multiply_cycles=2)
    cases = []
    for number, config in enumerate(CONFIGURATIONS):
        rows = operands(number + 10, 400)
        words = reference(config, rows)
        bit = config.operation.result is Kind.BIT
        cases.append({
            "name": str(config), "latency": spec.latency(config.op), "stalls": True,
            "words": [[*key, data] for key, data in config.words(spec).items()],
            "rows": [[row, [0, 0, 0], [0, int(word)] if bit else [int(word), 0]]
                     for row, word in zip(rows.tolist(), words, strict=True)]})
    run_bench({"pe.v": convert(Pe(spec), "pe")}, "pe", Path(__file__).with_name("pe_bench.py"), simulator=simulator,
              data=cases)
