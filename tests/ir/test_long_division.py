"""Divisions without dividers: all pairs of small numbers, random ones, in the ranges that the types of reads allow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.ir.evaluate import evaluate
from compiler.ir.expr import Apply, Cast, Const, Expr, Read, apply, postorder
from compiler.ir.long_division import divides, without_dividers
from compiler.ir.types import Int
from hw.ops import DIVISIONS


def agree(value: Expr, reads: list[np.ndarray], width: int | None) -> Expr:
    """The value without dividers, which is the same."""
    found = without_dividers(value, width)
    assert not any(map(divides, postorder(found)))
    expected, actual = (evaluate(v, reads.__getitem__, {}, {}) for v in (value, found))
    np.testing.assert_array_equal(actual, expected)
    return found


@pytest.mark.parametrize("op", DIVISIONS)
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize(("width", "word"), [(4, 16), (5, None), (8, 8)])
def test_all_pairs(op: str, signed: bool, width: int, word: int | None) -> None:
    """Zero divisors and the smallest number by -1 as well."""
    type_ = Int(width, signed)
    numbers = np.arange(type_.minimum, type_.maximum + 1)
    a, b = (column.ravel() for column in np.meshgrid(numbers, numbers))
    agree(apply(op, Read(0, type_), Read(1, type_)), [a, b], word)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from((Int(16, True), Int(16, False), Int(32, True), Int(12, True))),
       st.sampled_from(sorted(DIVISIONS)), st.sampled_from((Int(8, False), Int(7, True), Int(3, False))),
       st.integers(0, 99))
def test_operands_of_several_widths(type_: Int, op: str, narrow: Int, seed: int) -> None:
    random = np.random.default_rng(seed)
    wide = random.integers(type_.minimum, type_.maximum + 1, 50)
    small = random.integers(narrow.minimum, narrow.maximum + 1, 50)
    for args in ((Read(0, type_), Cast(Read(1, narrow), type_)), (Cast(Read(1, narrow), type_), Read(0, type_))):
        agree(Apply(op, args, type_), [wide, small], None)


def test_steps_by_the_quotient_s_bits() -> None:
    """Up to seven by at least two is three at most: two bits."""
    type_ = Int(16, False)
    dividend = Cast(Read(0, Int(3, False)), type_)
    divisor = apply("or", Cast(Read(1, Int(3, False)), type_), Const(2, type_))
    numbers = [column.ravel() for column in np.meshgrid(np.arange(8), np.arange(8))]
    found = agree(apply("div", dividend, divisor), numbers, 16)
    assert sum(isinstance(node, Apply) and node.op == "ge" for node in postorder(found)) == 2


def test_what_stays() -> None:
    """Divisions by constants, wider ones, and of floating-point numbers none."""
    wide, word = Int(32, True), Int(16, True)
    for value in (apply("div", Read(0, word), Const(3, word)), apply("rem", Read(0, wide), Read(1, wide))):
        assert without_dividers(value, 16) == value
