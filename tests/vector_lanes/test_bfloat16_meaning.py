"""Instructions on bfloat16 numbers in the reference simulator, against another library of such numbers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from hw.vector_lanes.float_meaning import compute_float
from hw.vector_lanes.isa import FLOAT, Mode, Op, Size

ALL = np.arange(1 << 16, dtype=np.uint16)
HARD = np.array([0, 0x8000, 1, 0x8001, 0x7F, 0x80, 0xFF, 0x3F80, 0xBF80, 0x3F81, 0x4080, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80,
                 0x7FC0, 0xFFC1, 0x0100, 0x4300, 0x5F00], np.uint16)


def numbers(patterns: np.ndarray) -> np.ndarray:
    return patterns.astype(np.uint16).view(ml_dtypes.bfloat16)


def patterns(values: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(values.astype(np.float32)), 0x7FC0, values.view(np.uint16))


@pytest.mark.parametrize(("op", "meaning"), [(Op.VADD, np.add), (Op.VSUB, np.subtract), (Op.VMUL, np.multiply)])
def test_arithmetic_rounds_once(op: Op, meaning: np.ufunc) -> None:
    """Every number with every hard one, and with a random one."""
    mode = Mode(op, in_size=FLOAT, out_size=FLOAT, absolute=True)
    rng = np.random.default_rng(1)
    for other in (*(np.full_like(ALL, hard) for hard in HARD), *(rng.permutation(ALL) for _ in range(4))):
        with np.errstate(all="ignore"):
            wanted = patterns(meaning(numbers(ALL), numbers(other)))
        np.testing.assert_array_equal(compute_float(mode, ALL, other, other), wanted)


def test_a_multiply_add_rounds_twice() -> None:
    a, b, d = (np.random.default_rng(k).permutation(ALL) for k in range(3))
    mode = Mode(Op.VMAC, in_size=FLOAT, out_size=FLOAT, absolute=True, scalar=True)
    with np.errstate(all="ignore"):
        wanted = patterns(numbers(patterns(numbers(a) * numbers(b))) + numbers(d))
    np.testing.assert_array_equal(compute_float(mode, a, b, d), wanted)


def test_conversions_round_once() -> None:
    integers = np.concatenate([np.arange(-70000, 70000, 7), np.random.default_rng(2).integers(-2**31, 2**32, 5000)])
    into = Mode(Op.VMOV, in_size=Size.WORD, out_size=FLOAT, absolute=True)
    exact = np.array([int(n) for n in integers], np.int64)
    wanted = _nearest(exact)
    np.testing.assert_array_equal(compute_float(into, exact, exact, exact), wanted)
    words = np.random.default_rng(3).integers(0, 1 << 32, 20000, dtype=np.uint32)
    narrow = Mode(Op.VMOV, in_size=FLOAT, out_size=FLOAT, absolute=True)
    with np.errstate(all="ignore"):
        rounded = patterns(words.view(np.float32).astype(ml_dtypes.bfloat16))
    np.testing.assert_array_equal(compute_float(narrow, words, words, words), rounded)
    out = Mode(Op.VMOV, in_size=FLOAT, out_size=Size.HALF, absolute=True)
    small = ALL[np.abs(numbers(ALL).astype(np.float32)) < 2**31]
    found = compute_float(out, small, small, small).view(np.int32)
    np.testing.assert_array_equal(found, numbers(small).astype(np.float32).astype(np.int32))


def _nearest(integers: np.ndarray) -> np.ndarray:
    """Patterns of the nearest numbers, ties to even, by integer arithmetic."""
    found = []
    for number in integers.tolist():
        magnitude, shift = abs(number), max(0, abs(number).bit_length() - 8)
        kept, rest = magnitude >> shift, magnitude & ((1 << shift) - 1)
        kept += 2 * rest > 1 << shift or (2 * rest == 1 << shift and kept & 1)
        value = np.float32((kept if shift else magnitude) * 2.0**shift * (-1 if number < 0 else 1))
        found.append(int(value.view(np.uint32)) >> 16)
    return np.array(found)


@pytest.mark.parametrize("op", [Op.VSEQ, Op.VSNE, Op.VSLT, Op.VSLE, Op.VSGT, Op.VSGE, Op.VMIN, Op.VMAX])
def test_order(op: Op) -> None:
    compares = op not in (Op.VMIN, Op.VMAX)
    mode = Mode(op, in_size=FLOAT, out_size=Size.HALF if compares else FLOAT, absolute=True)
    meaning = {Op.VSEQ: np.equal, Op.VSNE: np.not_equal, Op.VSLT: np.less, Op.VSLE: np.less_equal, Op.VSGT: np.greater,
               Op.VSGE: np.greater_equal, Op.VMIN: np.less, Op.VMAX: np.greater}[op]
    for hard in HARD:
        other = np.full_like(ALL, hard)
        holds = meaning(numbers(ALL).astype(np.float32), numbers(other).astype(np.float32))
        wanted = holds if compares else np.where(holds | np.isnan(numbers(other).astype(np.float32)), ALL, other)
        np.testing.assert_array_equal(compute_float(mode, ALL, other, other), wanted)
