"""VFMA: what it computes, in which cycles, where it is legal, and that machines without it have nothing of it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from c_reference import call, compile_c

from compiler.ir.floating import encode_exact
from compiler.ir.types import BFLOAT16
from hw.vector_lanes.core import VectorCore, core_sources
from hw.vector_lanes.float_meaning import compute_float
from hw.vector_lanes.header import c_header
from hw.vector_lanes.isa import FLOAT, Control, Entry, Mode, Op, Status, check
from hw.vector_lanes.machine import VectorMachine
from hw.vector_lanes.spec import VectorSpec
from hw.vector_lanes.streams import random_floats
from hw.vector_lanes.text import AssemblyError, assemble, disassemble
from hw.verilog import convert

FMA = Mode(Op.VMULFXP, in_size=FLOAT, out_size=FLOAT)
LANES = VectorSpec(2, scratchpad_bytes=1024, float32=True, bfloat16=True, fma=True)
HARD = np.array(
    [0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x80800000, 0x3F800000, 0xBF800000, 0x3F800001, 0x33800000,
     0x20000000, 0x1FFFFFFF, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00123, 0x7F800001],
    np.uint32,
)  # fmt: skip


def test_in_32_bits_it_is_fmaf_of_gcc(tmp_path: Path) -> None:
    """Every triple of hard numbers, random ones, and sums that are halfway between two numbers or just beside."""
    kinds = _hard_triples(), _random_triples(), _halfway_triples()
    a, b, c = (np.concatenate(parts) for parts in zip(*kinds, strict=True))
    text = """#include <math.h>
    void f(const float *a, const float *b, const float *c, float *y, int n) {
        for (int i = 0; i < n; i++) y[i] = fmaf(a[i], b[i], c[i]); }"""
    wanted = np.zeros(len(a), np.float32)
    call(compile_c(tmp_path, {"fused": text}), "f", [a, b, c, wanted, np.int32(len(a))])
    words = wanted.view(np.uint32)
    found = compute_float(FMA, a.view(np.uint32), b.view(np.uint32), c.view(np.uint32))
    np.testing.assert_array_equal(found, np.where(np.isnan(wanted), 0x7FC00000, words))
    with np.errstate(all="ignore"):
        twice = (a * b + c).view(np.uint32)
    assert (twice != words)[~np.isnan(wanted)].sum() > 5000


def _hard_triples() -> list[np.ndarray]:
    return [part.ravel().view(np.float32) for part in np.meshgrid(HARD, HARD, HARD)]


def _random_triples() -> list[np.ndarray]:
    return [random_floats(np.random.default_rng(seed), 40_000).view(np.float32) for seed in range(3)]


def _halfway_triples() -> list[np.ndarray]:
    """Products of 25 and 26 digits, whose last is a half, and what is nothing or next to nothing beside it."""
    rng = np.random.default_rng(7)
    a, b = ((rng.integers(1 << 12, 1 << 13, 20_000) | 1).astype(np.float32) for _ in range(2))
    scale = np.ldexp(np.float32(1), rng.integers(-80, 60, 20_000)).astype(np.float32)
    c = rng.choice(np.array([0, -0.0, 1e-44, -1e-44, 2.0**-90, -(2.0**-90), 1, -1], np.float32), 20_000) * scale
    return [a * scale, b, c]


def test_in_bfloat16_it_rounds_the_exact_sum() -> None:
    rng = np.random.default_rng(5)
    usual = rng.integers(0, 1 << 16, (3, 3000)).astype(np.uint16)
    close = (0x3F00 + rng.integers(0, 0x180, (3, 3000)) + (rng.integers(0, 2, (3, 3000)) << 15)).astype(np.uint16)
    tiny = np.where(rng.random((3, 3000)) < 0.5, close, rng.integers(0, 0x200, (3, 3000))).astype(np.uint16)
    patterns = np.concatenate([usual, close, tiny], axis=1)
    finite = np.isfinite(patterns.view(ml_dtypes.bfloat16).astype(np.float32)).all(axis=0)
    a, b, d = patterns[:, finite]
    found = compute_float(Mode(Op.VMULFXP, in_size=FLOAT, out_size=FLOAT, absolute=True), a, b, d)
    for pattern, *row in zip(found, *(_numbers(part) for part in (a, b, d)), strict=True):
        x, y, z = map(Fraction, row)
        if x * y + z:
            assert pattern == encode_exact(BFLOAT16, x * y + z), (x, y, z)


def test_in_bfloat16_it_gives_the_zeros_infinities_and_nans_of_32_bits() -> None:
    hard = np.unique(HARD & 0xFFFF0000)
    a, b, d = (part.ravel() for part in np.meshgrid(hard, hard, hard))
    wide = compute_float(FMA, a, b, d)
    special = ((wide & 0x7FFFFFFF) == 0) | ((wide & 0x7FFFFFFF) >= 0x7F800000)
    narrow = (part.astype(np.uint32) >> 16 for part in (a, b, d))
    found = compute_float(replace(FMA, absolute=True), *(part.astype(np.uint16) for part in narrow))
    np.testing.assert_array_equal(found[special], wide[special] >> 16)


def _numbers(patterns: np.ndarray) -> np.ndarray:
    return patterns.view(ml_dtypes.bfloat16).astype(np.float64)


def test_it_is_for_machines_that_have_it() -> None:
    half = Mode(Op.VMULFXP, in_size=FLOAT, out_size=FLOAT, absolute=True)
    assert check(FMA, True) == check(half, False, True) == ("float-fma",)
    assert check(FMA, True, False, True) == check(half, False, True, True) == ()
    assert check(FMA, fma=True) == ("size",)
    assert check(half, True, False, True) == ("bfloat16",)
    assert check(Mode(Op.VMULFXP, in_size=FLOAT), True, False, True) == ("float-operation",)
    machine = VectorMachine(VectorSpec(2, scratchpad_bytes=1024, float32=True))
    machine.execute([Entry.of(Control.SET_VL, 1), Entry.vector(FMA, 0, 4, 8)])
    assert machine.status is Status.ILLEGAL


@pytest.mark.parametrize(("mode", "cycles"), [
    (FMA, 6), (Mode(Op.VMULFXP, in_size=FLOAT, out_size=FLOAT, scalar=True), 3),
    (Mode(Op.VMULFXP, in_size=FLOAT, out_size=FLOAT, enumerated=True), 6),
    (Mode(Op.VMULFXP, in_size=FLOAT, out_size=FLOAT, absolute=True), 4), (Mode(Op.VMULFXP), 3),
])  # fmt: skip
def test_two_vectors_take_two_cycles_for_a_wavefront(mode: Mode, cycles: int) -> None:
    machine = VectorMachine(LANES)
    machine.execute([Entry.of(Control.SET_VL, 6), Entry.vector(mode, 0, 64, 128)])
    assert (machine.status, machine.ideal_cycles) == (Status(0), cycles)


def test_the_machine_adds_to_what_is_there() -> None:
    """D = 0.1 - 0.1 * 10, whose product is rounded to 1 otherwise."""
    machine = VectorMachine(LANES)
    machine.scratchpad[:4] = np.array([-1], np.float32).view(np.uint8)
    machine.scratchpad[4:8] = np.array([0.1], np.float32).view(np.uint8)
    ten = int(np.float32(10).view(np.uint32))
    machine.execute(
        [Entry.of(Control.SET_VL, 1), Entry.vector(Mode(Op.VMULFXP, True, FLOAT, FLOAT, scalar=True), 0, ten, 4)]
    )
    assert machine.scratchpad[:4].view(np.float32)[0] == np.float32(10 * float(np.float32(0.1)) - 1) != 0


def test_text_and_header_name_it() -> None:
    text = "VFMA VVF 0x0, 0x40, 0x80\nVFMA.2D.abs SEF 0x0, 0x3f80, 0x80\nVMULFXP VVW 0x0, 0x40, 0x80\n"
    assert disassemble(assemble(text)) == text
    assert [entry.mode.op for entry in assemble(text)] == [Op.VMULFXP] * 3
    with pytest.raises(AssemblyError, match=r"^line 1: VFMA goes with floating-point numbers, not with 'VVW'$"):
        assemble("VFMA VVW 0, 0, 0")
    assert "#define VFMA VMULFXP\n" in c_header(LANES)


@pytest.mark.parametrize("spec", [VectorSpec(2), VectorSpec(2, float32=True)])
def test_machines_without_it_have_nothing_of_it(spec: VectorSpec) -> None:
    plain, fused = (sources(replace(spec, fma=fma)) for fma in (False, True))
    assert (plain == fused) == (not spec.floats)
    assert not any("float_fused" in text for text in plain.values())
    assert any("float_fused" in text for text in fused.values()) == spec.floats


def sources(spec: VectorSpec) -> dict[str, str]:
    return {"vector_core.v": convert(VectorCore(spec), "vector_core"), **core_sources(spec)}
