"""Floating-point values in loop nests."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.frontend.kernel import (
    Typed,
    absolute,
    absolute_difference,
    cast,
    clamp,
    constant,
    lookup,
    maximum,
    minimum,
    select,
    weighted_sum,
)
from compiler.frontend.loop_nest import prog
from compiler.ir.expr import Read
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.types import BFLOAT16, FLOAT32, Float, Int, ProgramError


def blurred(type: Float) -> Program:
    """A weighted sum, limits, a division and a table, on values of `type`."""
    prg = prog("blurred", type)
    prg.add_input("a", (10,))
    prg.add_output("b", (8,))
    weights = prg.add_table("weights", [0.1, 1, -2.5])
    op = prg.add_loop("x", 0, 8).add_op("blur")
    for shift in range(3):
        op.add_load("a", f"x + {shift}")

    def kernel(u: Typed, v: Typed, w: Typed) -> Typed:
        total = weighted_sum([0.25, 0.5, 0.1], [u, v, w])
        entry = lookup(weights, cast(Int(8), clamp(u, 0, 2)))
        return select(total < 0, -total / 3, minimum(total, 4.5) + entry) - absolute_difference(u, w) + 1 / (v * v + 1)

    op.add_function(kernel)
    op.add_store("b", "x")
    return prg.build()


def test_single_precision_is_that_of_numpy() -> None:
    a = np.random.default_rng(1).standard_normal(10).astype(np.float32)
    f = np.float32
    u, v, w = a[:8], a[1:9], a[2:]
    total = u * f(0.25) + v * f(0.5) + w * f(0.1)
    entry = np.array([0.1, 1, -2.5], np.float32)[np.clip(u, 0, 2).astype(int)]
    chosen = np.where(total < 0, -total / f(3), np.minimum(total, f(4.5)) + entry)
    expected = chosen - np.abs(u - w) + f(1) / (v * v + f(1))
    found = interpret(blurred(FLOAT32), {"a": a})["b"]
    np.testing.assert_array_equal(found.view(np.uint32), expected.view(np.uint32))


def test_bfloat16_rounds_to_eight_digits() -> None:
    a = np.array([1, 1.0078125, -3, 0.5, 2, 2, 0, 7, 1, 1], np.float32)
    found = interpret(blurred(BFLOAT16), {"a": a})["b"]
    assert not (found.view(np.uint32) & 0xFFFF).any()
    with pytest.raises(ProgramError) as error:
        interpret(blurred(BFLOAT16), {"a": a + np.float32(1 / 1024)})
    assert str(error.value).startswith("input 'a' holds 1.0009765625 at (0,), which is no number of type float8.7")


def test_the_other_of_two_is_taken_where_nothing_compares() -> None:
    x = Typed(Read(0, FLOAT32))
    assert maximum(x, 0).expr == select(x > 0, x, constant(FLOAT32, 0)).expr
    assert absolute(x).expr.type == FLOAT32


def test_what_is_refused() -> None:
    x, n = Typed(Read(0, FLOAT32)), Typed(Read(1, Int(16)))
    with pytest.raises(ProgramError, match=r"^'/' divides floating-point values; integers have // and %"):
        n / 2
    with pytest.raises(ProgramError, match=r"^operation 'add' mixes float8\.23 and int16; cast one of them$"):
        x + n
    with pytest.raises(ProgramError, match=r"^operation 'add' takes typed values and integers, not 0\.5$"):
        n + 0.5
    with pytest.raises(ProgramError, match=r"^constant 'one' is not a number$"):
        constant(FLOAT32, "one")
    with pytest.raises(ProgramError, match=r"^table 'weights' \(.*:\d+\): constant 'one' is not a number$"):
        prog("t", FLOAT32).add_table("weights", ["one"])  # pyright: ignore[reportArgumentType]
    with pytest.raises(ProgramError, match=r"^operation 'shr' on float8\.23: floating-point numbers of up to "):
        x >> 1


@pytest.mark.parametrize(("given", "type"), [("bfloat16", BFLOAT16), (np.float32, FLOAT32), ("float5.10", Float(5, 10)),
                                             (np.dtype("uint8"), Int(8, False)), ("float64", Float(11, 52))])
def test_types_have_names(given: object, type: Float | Int) -> None:
    assert prog("named", given).type == type


@pytest.mark.parametrize(("given", "message"), [
    ("bfloat17", "'bfloat17' is no type of numbers; there are types like uint16, int8, bit, bfloat16, float32, "
                 "float5.10 and numpy's dtypes of these"),
    (Float(15, 112), "nothing computes with float15.112; there are integers of up to 64 bits and floating-point "
                     "numbers within float11.52"),
    ("fixed16.8", "nothing computes with fixed16.8; there are integers of up to 64 bits and floating-point numbers "
                  "within float11.52; take int16, and shift products right by 8 bits"),
])
def test_other_types_are_refused_where_they_are_given(given: object, message: str) -> None:
    prg = prog("wrong")
    with pytest.raises(ProgramError) as error:
        prg.add_input("a", (4,), given)
    place = str(error.value).partition(": ")
    assert place[0].startswith("type of 'a' (tests/frontend/test_loop_nest_float.py:") and place[2] == message
