"""Floating-point operators on both simulators: small formats exhaustively in all roundings, with and without subnormal
numbers; others against numpy, ml_dtypes and MPFR."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from amaranth.hdl import C, Fragment, Module
from float_batch import Batch, run_batches
from float_reference import DTYPES, exact_results, mpfr_results, native_results

from hw.float import Float, FloatError, FloatSpec, Integer, Rounding
from hw.float.operator import build_float

E4M3, E5M2, BF16, F16, F32, F64 = Float(4, 3), Float(5, 2), Float(8, 7), Float(5, 10), Float(8, 23), Float(11, 52)
NARROW = Float(2, 20)
"""Subnormal numbers are normalised by more than the exponent has room for."""
ARITHMETIC = ("add", "sub", "mul", "div", "sqrt", "mad")
OTHERS = ("eq", "ne", "lt", "le", "gt", "ge", "neg", "abs")
LATENCIES = {"add": 5, "sub": 12, "mul": 4, "div": 7, "sqrt": 9, "mad": 6}
DEPTH = {("small", "verilator"): 1 << 16, ("large", "verilator"): 6000, ("small", "icarus"): 400,
         ("large", "icarus"): 250}
"""Operands of a simulation."""
MPFR = 1500
"""Operands that MPFR computes with, one by one."""


def hard(form: Float, count: int, seed: int) -> tuple[np.ndarray, ...]:
    """Three columns of words: special values, powers of two, neighbours, cancellation, anything."""
    draw = np.random.default_rng(seed)
    top = (1 << form.exponent) - 1

    def column() -> np.ndarray:
        exponent = draw.choice([0, 1, 2, form.bias, form.bias + 1, top - 1, top], count)
        near = form.bias + draw.integers(-form.mantissa - 3, form.mantissa + 4, count)
        exponent = np.where(draw.random(count) < 0.3, exponent, np.where(draw.random(count) < 0.7, near,
                                                                         draw.integers(0, top + 1, count)))
        fraction = draw.integers(0, 1 << form.mantissa, count)
        edge = draw.choice([0, 1, (1 << form.mantissa) - 1, 1 << form.mantissa - 1], count)
        fraction = np.where(draw.random(count) < 0.3, edge, fraction)
        word = np.clip(exponent, 0, top).astype(np.uint64) << np.uint64(form.mantissa) | fraction.astype(np.uint64)
        return word | draw.integers(0, 2, count).astype(np.uint64) << np.uint64(form.width - 1)

    a, b, c = column(), column(), column()
    twin = a ^ np.uint64(1 << form.width - 1) ^ draw.integers(0, 4, count).astype(np.uint64)
    return a, np.where(draw.random(count) < 0.15, twin, b), c


def pairs(form: Float, depth: int) -> tuple[np.ndarray, ...]:
    """All pairs of words, or some, and a third one of any value."""
    every = np.arange(1 << 2 * form.width)
    generator = np.random.default_rng(form.mantissa)
    chosen = every if depth >= len(every) else generator.choice(every, depth, replace=False)
    third = generator.integers(0, 1 << form.width, len(chosen))
    return tuple(part.astype(np.uint64) for part in (chosen >> form.width, chosen & (1 << form.width) - 1, third))


def operators(form: Float) -> dict[str, FloatSpec]:
    """All that two or three operands of a format have."""
    specs = {op: FloatSpec(op, form, LATENCIES[op]) for op in ARITHMETIC}
    return specs | {op: FloatSpec(op, form, 1) for op in (*OTHERS, "min", "max")}


def roundings(form: Float, modes: tuple[Rounding, ...], **options: bool) -> dict[str, FloatSpec]:
    """Arithmetic in some roundings."""
    return {f"{op} {mode.value}": FloatSpec(op, form, k, None, mode, **options)
            for op in ARITHMETIC for k, mode in enumerate(modes)}


CONVERSIONS = {
    f"{source}->{to}": FloatSpec("cast", source, 3, to)
    for source, to in ((F32, BF16), (F32, F16), (F32, F64), (F64, F32), (BF16, F32), (F32, Integer(32)),
                       (F32, Integer(64, False)), (F64, Integer(64)), (Integer(32), F32), (Integer(64, False), F64))
}


def small(depth: int) -> list[Batch]:
    """Formats of eight bits."""
    return [Batch(roundings(E4M3, (Rounding.NEAREST_EVEN, Rounding.UP, Rounding.NEAREST_AWAY)), pairs(E4M3, depth)),
            Batch(roundings(E5M2, (Rounding.NEAREST_EVEN, Rounding.ZERO, Rounding.DOWN), subnormals=False),
                  pairs(E5M2, depth))]


def large(depth: int) -> list[Batch]:
    """All others, and conversions."""
    found = [Batch(operators(form), hard(form, depth, 7)) for form in (BF16, F16, F32, F64)]
    found.append(Batch({op: FloatSpec(op, NARROW, 3) for op in ("mul", "div", "sqrt")}, hard(NARROW, depth, 8)))
    words = np.random.default_rng(5).integers(0, 1 << 63, depth).astype(np.uint64) * np.uint64(2)
    return found + [Batch({name: spec}, (_operands(spec, words),)) for name, spec in CONVERSIONS.items()]


def _operands(spec: FloatSpec, words: np.ndarray) -> np.ndarray:
    if isinstance(spec.form, Float):
        return hard(spec.form, len(words), 3)[0]
    return words >> np.uint64(64 - spec.form.width) >> np.random.default_rng(2).integers(
        0, spec.form.width, len(words)).astype(np.uint64)


@cache
def simulated(group: str, simulator: str, folder: Path) -> tuple[list[Batch], list[dict[str, np.ndarray]]]:
    """Operands and results of a group, once per simulator."""
    depth = DEPTH[group, simulator]
    parts = {"small": small, "large": large}[group](depth)
    return parts, run_batches(parts, simulator, folder / group / simulator, depth)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where simulations leave their files."""
    return tmp_path_factory.mktemp("floats")


def equal(name: str, found: np.ndarray, wanted: np.ndarray, operands: tuple[np.ndarray, ...]) -> None:
    """Every word is the same; the message has the first operands for which one is not."""
    wrong = np.flatnonzero(found[: len(wanted)] != wanted)
    row = [f"{int(column[wrong[0]]):x}" for column in operands] if len(wrong) else []
    assert not len(wrong), (name, row, f"{int(found[wrong[0]]):x}", f"{int(wanted[wrong[0]]):x}", len(wrong))


def arity(op: str) -> int:
    return {"mad": 3, "sqrt": 1, "neg": 1, "abs": 1}.get(op, 2)


@pytest.mark.parametrize("number", [0, 1], ids=["subnormals", "flush"])
def test_small_formats_in_all_roundings(number: int, simulator: str, place: Path) -> None:
    parts, results = simulated("small", simulator, place)
    batch, found = parts[number], results[number]
    for name, spec in batch.operators.items():
        wanted = exact_results(spec.number, spec.op, batch.operands[: arity(spec.op)], spec.rounding,
                               subnormals=spec.subnormals)
        equal(name, found[name], wanted, batch.operands)


@pytest.mark.parametrize("number", range(4), ids=["bfloat16", "float16", "float32", "float64"])
def test_other_formats_equal_numpy_and_mpfr(number: int, simulator: str, place: Path) -> None:
    parts, results = simulated("large", simulator, place)
    batch, found = parts[number], results[number]
    a, b, _ = batch.operands
    for name, spec in batch.operators.items():
        operands = batch.operands[: arity(name)]
        if name == "mad":
            some = [column[:MPFR] for column in operands]
            equal(name, found[name], mpfr_results(spec.number, name, some, spec.rounding), batch.operands)
        elif name in ("min", "max"):
            better = native_results(spec.number, "lt" if name == "min" else "gt", (a, b))
            none = native_results(spec.number, "ne", (b, b))
            equal(name, found[name], np.where((better | none) == 1, a, b), batch.operands)
        else:
            equal(name, found[name], native_results(spec.number, name, operands), batch.operands)


def test_mantissas_wider_than_exponents_have_room_equal_mpfr(simulator: str, place: Path) -> None:
    parts, results = simulated("large", simulator, place)
    batch, found = parts[4], results[4]
    for name, spec in batch.operators.items():
        some = [column[:MPFR] for column in batch.operands[: arity(name)]]
        equal(name, found[name], mpfr_results(NARROW, name, some, spec.rounding), batch.operands)


@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversions_equal_numpy(name: str, simulator: str, place: Path) -> None:
    parts, results = simulated("large", simulator, place)
    number = next(k for k, batch in enumerate(parts) if name in batch.operators)
    spec, (words,) = parts[number].operators[name], parts[number].operands
    assert spec.to is not None
    equal(name, results[number][name], _converted(spec.form, spec.to, words), (words,))


def _converted(source: Float | Integer, to: Float | Integer, words: np.ndarray) -> np.ndarray:
    kind = np.dtype(DTYPES[source]) if isinstance(source, Float) else np.dtype(
        f"{'i' if source.signed else 'u'}{source.width // 8}")
    values = words.astype(f"u{kind.itemsize}").view(kind)
    with np.errstate(all="ignore"):
        if isinstance(to, Float):
            result = values.astype(DTYPES[to])
            return np.where(np.isnan(result), to.nan, result.view(f"u{result.itemsize}")).astype(np.uint64)
        wide = np.trunc(values.astype(np.float64))
    low, high = (-(2.0 ** (to.width - 1)), 2.0 ** (to.width - 1)) if to.signed else (-(2.0**63), 2.0**64)
    fits = (wide >= low) & (wide < high)
    outside = np.where((wide >= high) & (not to.signed), 0, 1 << to.width - 1).astype(object)
    exact = np.array([int(v) if ok else int(o) for v, ok, o in zip(wide, fits, outside, strict=True)], object)
    return np.array(exact & ((1 << to.width) - 1), np.uint64)


def test_mpfr_and_the_exact_model_agree() -> None:
    """Two references that have nothing in common."""
    words = pairs(E4M3, 300)
    for op in ARITHMETIC:
        for mode in (Rounding.NEAREST_EVEN, Rounding.ZERO, Rounding.UP, Rounding.DOWN):
            operands = words[: arity(op)]
            np.testing.assert_array_equal(mpfr_results(E4M3, op, operands, mode),
                                          exact_results(E4M3, op, operands, mode, subnormals=True), f"{op} {mode}")


@pytest.mark.parametrize(("build", "message"), [
    (lambda: Float(1, 5), "floating-point numbers with 1 bits of exponent: there are 2..15"),
    (lambda: FloatSpec("add", F32, 65), "an operator of 65 cycles: they take 0..64"),
    (lambda: FloatSpec("cast", F32, 1), "operator 'cast': 'cast' names a format to convert to, others do not"),
    (lambda: replace(FloatSpec("cast", F32, 1, BF16), form=Integer(8), to=Integer(9)),
     "operator 'cast' on Integer(width=8, signed=True) has nothing to do with floating-point numbers"),
])
def test_what_there_is_not(build: Callable[[], object], message: str) -> None:
    with pytest.raises(FloatError) as error:
        build()
    assert str(error.value) == message


def test_operands_narrower_than_their_format_are_converted():
    spec = FloatSpec("cast", Integer(32), to=F32)
    m = Module()
    assert len(build_float(m, lambda value, count: value, spec, [C(3)])) == 32
    Fragment.get(m, None)
