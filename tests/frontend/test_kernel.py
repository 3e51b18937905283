"""Typed expressions in Python."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler.frontend import kernel
from compiler.frontend.kernel import (
    Typed,
    absolute,
    absolute_difference,
    cast,
    clamp,
    constant,
    iterator,
    lookup,
    mad,
    maximum,
    minimum,
    mul_mid,
    select,
    weighted_sum,
)
from compiler.ir.evaluate import evaluate
from compiler.ir.expr import Apply, Cast, Const, Lookup, Read
from compiler.ir.expr import Iterator as IteratorNode
from compiler.ir.program import Table
from compiler.ir.types import BIT, FLOAT32, INT16, UINT16, Fixed, Int, ProgramError
from hw.ops import FLOAT_FUNCTIONS, OPERATIONS

A, B, C = (Typed(Read(index, UINT16)) for index in range(3))
S = Typed(Read(3, INT16))
P, Q = (Typed(Read(index, BIT)) for index in (4, 5))


def u16(value: int) -> Const:
    return Const(value, UINT16)


@pytest.mark.parametrize(
    ("made", "op", "args"),
    [
        (lambda: A + B, "add", (A.expr, B.expr)),
        (lambda: A + 3, "add", (A.expr, u16(3))),
        (lambda: 3 + A, "add", (u16(3), A.expr)),
        (lambda: A + np.int64(3), "add", (A.expr, u16(3))),
        (lambda: A - B, "sub", (A.expr, B.expr)),
        (lambda: 9 - A, "sub", (u16(9), A.expr)),
        (lambda: A * 3, "mul", (A.expr, u16(3))),
        (lambda: 3 * A, "mul", (u16(3), A.expr)),
        (lambda: A << 2, "shl", (A.expr, u16(2))),
        (lambda: 1 << A, "shl", (u16(1), A.expr)),
        (lambda: A >> 8, "shr", (A.expr, u16(8))),
        (lambda: 256 >> A, "shr", (u16(256), A.expr)),
        (lambda: A // 4, "shr", (A.expr, u16(2))),
        (lambda: A % 4, "and", (A.expr, u16(3))),
        (lambda: A & B, "and", (A.expr, B.expr)),
        (lambda: A | 1, "or", (A.expr, u16(1))),
        (lambda: 1 ^ A, "xor", (A.expr, u16(1))),
        (lambda: ~A, "xor", (A.expr, u16(65535))),
        (lambda: ~S, "xor", (S.expr, Const(-1, INT16))),
        (lambda: -S, "sub", (Const(0, INT16), S.expr)),
        (lambda: minimum(A, 7), "min", (A.expr, u16(7))),
        (lambda: maximum(7, A), "max", (u16(7), A.expr)),
        (lambda: absolute(S), "abs", (S.expr,)),
        (lambda: +abs(S), "abs", (S.expr,)),
        (lambda: absolute_difference(A, B), "absd", (A.expr, B.expr)),
        (lambda: mul_mid(A, B), "mul_mid", (A.expr, B.expr)),
        (lambda: mad(A, 5, B), "mad", (A.expr, u16(5), B.expr)),
        (lambda: select(P, A, 0), "select", (P.expr, A.expr, u16(0))),
        (lambda: clamp(A, 1, 9), "min", ((maximum(A, 1)).expr, u16(9))),
    ],
)
def test_words_make_word_operations(made: Callable[[], Typed], op: str, args: tuple[Any, ...]) -> None:
    node = made().expr
    assert node == Apply(op, args, args[-1].type)


@pytest.mark.parametrize(
    ("made", "op"),
    [
        (lambda: A == 3, "eq"),
        (lambda: A != 3, "ne"),
        (lambda: A < 3, "lt"),
        (lambda: A <= 3, "le"),
        (lambda: A > 3, "gt"),
        (lambda: A >= 3, "ge"),
    ],
)
def test_comparisons_make_bits(made: Callable[[], Typed], op: str) -> None:
    assert made().expr == Apply(op, (A.expr, u16(3)), BIT)


def test_an_integer_on_the_left_of_a_comparison_turns_it_around() -> None:
    assert (3 < A).expr == Apply("gt", (A.expr, u16(3)), BIT)  # noqa: SIM300


@pytest.mark.parametrize(
    ("function", "meaning"),
    [
        (lambda p, q: p & q, lambda p, q: p and q),
        (lambda p, q: p | q, lambda p, q: p or q),
        (lambda p, q: p ^ q, lambda p, q: p != q),
        (lambda p, q: p == q, lambda p, q: p == q),
        (lambda p, q: p != q, lambda p, q: p != q),
        (lambda p, q: ~p, lambda p, q: not p),
        (lambda p, q: select(p, q, 1), lambda p, q: q if p else 1),
        (lambda p, q: select(p, 0, q), lambda p, q: 0 if p else q),
        (lambda p, q: p & 1 | q & False, lambda p, q: p),
    ],
)
def test_logic_on_bits_is_a_truth_table(function: Callable[..., Typed], meaning: Callable[..., Any]) -> None:
    node = function(P, Q).expr
    assert isinstance(node, Apply) and node.op == "lut3" and node.type == BIT
    p, q = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    result = evaluate(node, lambda index: p if index == 4 else q, {}, {})
    assert result.tolist() == [int(bool(meaning(*row))) for row in zip(p, q, strict=True)]


def test_every_operation_can_be_imported_by_its_name() -> None:
    for name in OPERATIONS:
        assert callable(getattr(kernel, name))
    with pytest.raises(AttributeError, match=r"module 'compiler\.frontend\.kernel' has no attribute 'divide'"):
        kernel.divide  # noqa: B018


def test_leaves() -> None:
    table = Table("curve", (1, 2), INT16)
    assert lookup(table, A).expr == Lookup("curve", A.expr, INT16)
    assert iterator("x", UINT16).expr == IteratorNode("x", UINT16)
    assert constant(INT16, -5).expr == Const(-5, INT16)
    assert cast(INT16, A).expr == Cast(A.expr, INT16)
    assert cast(UINT16, A) is A


def test_a_weighted_sum_is_a_chain_without_needless_terms() -> None:
    assert weighted_sum([2, 0, 1], [A, B, C]).expr == ((A * 2) + C).expr


NO_FIXED = ("nothing computes with fixed16.8; there are integers of up to 64 bits and floating-point numbers within "
            "float11.52; take int16, and shift products right by 8 bits")
CASES: list[tuple[Callable[[], Any], str]] = [
    (lambda: A + S, "operation 'add' mixes uint16 and int16; cast one of them"),
    (lambda: S + A, "operation 'add' mixes int16 and uint16; cast one of them"),
    (lambda: select(P, A, S), "operation 'select' mixes uint16 and int16; cast one of them"),
    (lambda: A * 65536, "constant 65536 does not fit uint16 (0..65535)"),
    (lambda: A + -1, "constant -1 does not fit uint16 (0..65535)"),
    (lambda: S * 40000, "constant 40000 does not fit int16 (-32768..32767)"),
    (lambda: A + 0.5, "operation 'add' takes typed values and integers, not 0.5"),
    (lambda: A + P, "operation 'add' takes a word and is given a value of type bit"),
    (lambda: select(A, A, A), "operation 'select' takes a bit and is given a value of type uint16"),
    (lambda: P & A, "operation 'lut3' takes a bit and is given a value of type uint16"),
    (lambda: mad(A, B), "operation 'mad' takes 3 operands, not 2"),
    (lambda: mul_mid(A, B, C), "operation 'mul_mid' takes 2 operands, not 3"),
    (lambda: minimum(1, 2), "operation 'min' needs a typed operand; constant(type, value) makes one"),
    (lambda: A // 0, "'//' by 0"),
    (lambda: A // -3, "the divisor -3 is no uint16"),
    (lambda: A % 2.5, "'%' takes typed values and integers, not 2.5"),
    (lambda: 2.5 // A, "'//' takes typed values and integers, not 2.5"),
    (lambda: A ** -1, "'**' takes a constant integer from 0 on, not -1"),
    (lambda: A ** B, "'**' takes a constant integer from 0 on, not <expression of type uint16>"),
    (lambda: S // 40001, "the divisor 40001 is no int16"),
    (lambda: Typed(Read(0, Fixed(16, 8))) // 3, "'//' and '%' take integers, not fixed16.8"),
    (lambda: A if A < B else B, "a value of the program is not known in Python; use select(condition, a, b)"),
    (lambda: cast(INT16, 5), "'cast' takes a typed value, not 5; constant(type, value) makes one"),  # type: ignore[arg-type]
    (lambda: cast(Fixed(16, 8), A), f"cast: {NO_FIXED}"),
    (lambda: cast(A, INT16), "cast takes the type first, then the value: cast(INT16, value)"),  # type: ignore[arg-type]
    (lambda: cast("long", A), "cast: 'long' is no type of numbers; there are types like uint16, int8, bit, bfloat16, "
     "float32, float5.10 and numpy's dtypes of these"),
    (lambda: lookup([1, 2], A), "lookup takes a table as add_table(name, values) returns it, not [1, 2]"),  # type: ignore[arg-type]
    (lambda: ~Typed(Read(0, FLOAT32)), "'~' takes integers, not float8.23"),
    (lambda: Typed(Read(0, Fixed(16, 8))) + 1, f"constant: {NO_FIXED}"),
    (
        lambda: Typed(Read(0, Fixed(16, 8))) + Typed(Read(0, Fixed(16, 8))),
        "operation 'add' on fixed16.8: there is no fixed-point arithmetic",
    ),
    (lambda: constant(Int(3), 4), "constant 4 does not fit int3 (-4..3)"),
    (lambda: weighted_sum([1, 2], [A]), "a weighted sum of 1 values needs as many weights, not 2"),
    (lambda: weighted_sum([0, 0], [A, B]), "a weighted sum needs at least one weight that is not zero"),
    (lambda: kernel.apply("power", A, 2), "there is no operation 'power'; there are: "
     f"{', '.join(sorted((*OPERATIONS, *FLOAT_FUNCTIONS, 'sqrt')))}"),
]


@pytest.mark.parametrize(("type_", "divisor"), [
    *itertools.product([Int(8), Int(8, False), INT16, UINT16], [1, 2, 3, 7, 9, 10, 64, 100, 127]),
    *itertools.product([Int(8), INT16], [-1, -2, -3, -7, -64, -127, -128]),
], ids=str)
def test_division_rounds_down_as_in_python(type_: Int, divisor: int) -> None:
    data = np.arange(type_.minimum, type_.maximum + 1)
    value = Typed(Read(0, type_))
    quotient, rest = divmod(value, divisor)
    for made, wanted in ((quotient, data // divisor), (rest, data % divisor)):
        assert made.type == type_
        found = evaluate(made.expr, lambda _: data, {}, {})
        np.testing.assert_array_equal(found, wanted.astype(type_.dtype))


@pytest.mark.parametrize("type_", [Int(6), Int(6, False)], ids=str)
def test_division_by_values_rounds_down_and_gives_nothing_for_nothing(type_: Int) -> None:
    numbers = np.arange(type_.minimum, type_.maximum + 1)
    a, b = (side.ravel() for side in np.meshgrid(numbers, numbers))
    x, y = Typed(Read(0, type_)), Typed(Read(1, type_))
    with np.errstate(divide="ignore"):
        wanted = [(x // y, a // b), (x % y, a % b), (7 // y, 7 // b), (7 % y, 7 % b)]
    for made, values in wanted:
        found = evaluate(made.expr, lambda number: (a, b)[number], {}, {})
        np.testing.assert_array_equal(found, (values - type_.minimum) % 64 + type_.minimum)


@pytest.mark.parametrize("exponent", range(8))
def test_powers_are_products(exponent: int) -> None:
    data = np.arange(-9, 10)
    made = Typed(Read(0, Int(32))) ** exponent
    found = np.broadcast_to(evaluate(made.expr, lambda _: data, {}, {}), data.shape)
    np.testing.assert_array_equal(found, data ** exponent)


def test_types_go_by_name_and_as_numpy_s() -> None:
    assert cast("int16", A).expr == cast(np.dtype(np.int16), A).expr == cast(INT16, A).expr
    assert constant("int16", 3).expr == Const(3, INT16) == constant(np.dtype(np.int16), 3).expr
    assert iterator("x", "int16").expr == IteratorNode("x", INT16)


@pytest.mark.parametrize(("made", "message"), CASES, ids=[message for _, message in CASES])
def test_mistakes_are_one_clear_error(made: Callable[[], Any], message: str) -> None:
    with pytest.raises(ProgramError) as error:
        made()
    assert str(error.value) == message
