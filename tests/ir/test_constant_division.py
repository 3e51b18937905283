"""Division by constants in operations without a divider: C's quotient and remainder for every value."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.ir.constant_division import (
    check_divisor,
    constant_divisor,
    quotient,
    reciprocal,
    remainder,
    without_divisions,
)
from compiler.ir.evaluate import evaluate
from compiler.ir.expr import Apply, Cast, Const, Expr, Read, apply, postorder
from compiler.ir.types import FLOAT32, Int
from hw.ops import OPERATIONS

TYPES = [Int(width, signed) for width in (8, 16) for signed in (True, False)]


def values(type_: Int) -> np.ndarray:
    return np.arange(type_.minimum, type_.maximum + 1)


def found(expression: Expr, data: np.ndarray) -> np.ndarray:
    return np.broadcast_to(evaluate(expression, lambda _: data, {}, {}), data.shape).astype(np.int64)


def towards_zero(data: np.ndarray, divisor: int) -> np.ndarray:
    return np.sign(data) * np.sign(divisor) * (np.abs(data) // abs(divisor))


def divisors(type_: Int) -> list[int]:
    small = [*range(1, 300), 640, 1000, 4096, 10007, 32767, 32769, 65535]
    both = small + [-d for d in small] if type_.signed else small
    return [d for d in both if type_.minimum < d <= type_.maximum][:: 1 if type_.width == 8 else 7]


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_every_value_by_many_divisors(type_: Int) -> None:
    data = values(type_)
    for divisor in divisors(type_):
        assert constant_divisor(apply("div", Read(0, type_), Const(divisor, type_))) == divisor
        wanted = type_.wrap(towards_zero(data, divisor))
        assert (found(quotient(Read(0, type_), divisor), data) == wanted).all(), divisor
        assert (found(remainder(Read(0, type_), divisor), data) == type_.wrap(data - wanted * divisor)).all(), divisor


@pytest.mark.parametrize("most", [1, 7, 255, 2295, 16383, 40000, 65534])
def test_values_that_are_never_large_take_one_product(most: int) -> None:
    type_ = Int(16, signed=False)
    data = np.arange(most + 1)
    for divisor in (3, 5, 7, 9, 25, 49, 641, 10007):
        expression = quotient(Read(0, type_), divisor, most)
        assert (found(expression, data) == data // divisor).all(), divisor
        operations = [node.op for node in postorder(expression) if isinstance(node, Apply)]
        assert operations in (["mul_high"], ["mul_high", "shr"]) or most > 32767


@pytest.mark.parametrize("most", [0, 1, 254, 255, 2295, 32768, 59998, 59999, 60000, 65534, 65535])
def test_reciprocals_are_exact_and_no_longer_than_needed(most: int) -> None:
    """Also by divisors that no value reaches."""
    data = np.arange(most + 1)
    for divisor in (3, 9, 255, 641, 10007, 40000, 59999, 60000, 65535):
        wanted = data // divisor
        exact = ((-(-(1 << 16 + s) // divisor), s) for s in range(16)
                 if np.array_equal(data * -(-(1 << 16 + s) // divisor) >> 16 + s, wanted))
        first = next((found for found in exact if found[0] < 1 << 16), None)
        assert reciprocal(divisor, 16, most) == first, divisor


def test_divisions_within_an_expression() -> None:
    """Those by constants only; what is left over needs a divider."""
    word = Int(32)
    a, b = Read(0, word), Read(1, word)
    value = apply("add", apply("div", apply("rem", a, Const(-7, word)), Const(12, word)), apply("div", a, b))
    left = [node.op for node in postorder(without_divisions(value)) if isinstance(node, Apply)]
    assert left.count("div") == 1 and set(left) - {"div"} <= set(OPERATIONS)
    floats = apply("div", Read(0, FLOAT32), Const(1, FLOAT32))
    assert without_divisions(Cast(floats, word)) == Cast(floats, word)


@pytest.mark.parametrize(("divisor", "reason"), [
    (0, "division by zero"), (-(1 << 31), "the most negative number cannot be a divisor"), (-1, None), (9, None),
])
def test_what_cannot_divide(divisor: int, reason: str | None) -> None:
    word = Int(32)
    assert check_divisor(word, divisor) == reason
    assert (constant_divisor(apply("div", Read(0, word), Const(divisor, word))) is None) == (reason is not None)
