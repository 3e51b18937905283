"""Floating-point arithmetic: against numpy and against exact fractions, and in programs."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from float_reference import mpfr_results

from compiler.ir import expr
from compiler.ir.evaluate import evaluate
from compiler.ir.expr import Apply, Cast, Const, Expr, Read, apply
from compiler.ir.floating import FLOAT_OPERATIONS, apply_float, decode, encode, encode_number, rounded
from compiler.ir.interpret import interpret
from compiler.ir.text import parse_program, print_program
from compiler.ir.types import BFLOAT16, BIT, FLOAT16, FLOAT32, FLOAT64, Float, Int, ProgramError, Type
from compiler.ir.verify import verify
from hw.float import Float as HardwareFloat
from hw.float import Rounding

SPECIAL = [0, 1, 2, 0x007FFFFF, 0x00800000, 0x00800001, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x33800000, 0x7F7FFFFF,
           0x7F800000, 0x7F800001, 0x7FC00000, 0x7FC12345, 0x4B800000, 0x5F000000, 0x4F000000, 0x1FFFFFFF]
PATTERNS = np.array([*SPECIAL, *(pattern | 1 << 31 for pattern in SPECIAL)], np.int64)


def operands() -> tuple[np.ndarray, np.ndarray]:
    """Pairs of special values, and pairs of random bits."""
    pairs = np.array(list(product(PATTERNS, PATTERNS)))
    more = np.random.default_rng(1).integers(0, 1 << 32, (4000, 2))
    near = more.copy()
    near[:, 1] = near[:, 0] ^ (near[:, 1] & 0x80FFFFFF)
    both = np.concatenate([pairs, more, near])
    return decode(FLOAT32, both[:, 0]), decode(FLOAT32, both[:, 1])


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div"])
def test_arithmetic_is_that_of_numpy(op: str) -> None:
    a, b = operands()
    numpy_op = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[op]
    with np.errstate(all="ignore"):
        expected = numpy_op(a, b)
    result = encode(FLOAT32, apply_float(op, FLOAT32, [a, b]))
    numbers = ~np.isnan(expected)
    assert numbers.sum() > 5000
    np.testing.assert_array_equal(result[numbers], encode(FLOAT32, expected)[numbers])
    assert set(result[~numbers].tolist()) == {0x7FC00000}


def test_changes_of_sign_and_selections_keep_all_bits() -> None:
    values = decode(FLOAT32, PATTERNS)
    np.testing.assert_array_equal(encode(FLOAT32, values), PATTERNS)
    np.testing.assert_array_equal(encode(FLOAT32, apply_float("neg", FLOAT32, [values])), PATTERNS ^ 1 << 31)
    np.testing.assert_array_equal(encode(FLOAT32, apply_float("abs", FLOAT32, [values])), PATTERNS & ~(1 << 31))
    chosen = apply_float("select", FLOAT32, [np.array([1]), values, values[::-1]])
    np.testing.assert_array_equal(encode(FLOAT32, chosen), PATTERNS)


@pytest.mark.parametrize("form", [FLOAT16, BFLOAT16, Float(4, 3), Float(5, 2)])
def test_smaller_formats_round_to_the_nearest_of_their_numbers(form: Float) -> None:
    step = max(1, (1 << form.width) // 256)
    patterns = np.arange(0, 1 << form.width, step)
    values = decode(form, patterns)
    np.testing.assert_array_equal(encode(form, values), patterns)
    every = np.arange(1 << form.width)
    finite = np.unique(decode(form, every)[np.isfinite(decode(form, every))])
    numbers = [Fraction(float(x)) for x in finite]
    for x, y in np.random.default_rng(2).choice(values[np.isfinite(values)], (60, 2)):
        a, b = Fraction(float(x)), Fraction(float(y))
        for op, exact in (("add", a + b), ("mul", a * b)):
            result = float(apply_float(op, form, [singles(x), singles(y)])[0])
            if np.isinf(result):
                assert abs(exact) > max(numbers)
            else:
                place = int(np.searchsorted(finite, result))
                near = [abs(n - exact) for n in numbers[max(0, place - 1):place + 2]]
                assert abs(Fraction(result) - exact) == min(near)


def test_float16_is_that_of_numpy() -> None:
    values = np.random.default_rng(3).standard_normal((2, 500)).astype(np.float16) * np.float16(0.01)
    a, b = values.astype(np.float32)
    np.testing.assert_array_equal(encode(FLOAT16, apply_float("mul", FLOAT16, [a, b])),
                                  (values[0] * values[1]).view(np.uint16))
    assert encode_number(FLOAT16, 65520.0) == 0x7C00
    assert rounded(FLOAT16, np.array([65519.0]))[0] == 65504


def singles(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def value_of(value: Expr, *reads: np.ndarray) -> np.ndarray:
    return evaluate(value, lambda k: reads[k], {}, {})


@pytest.mark.parametrize("type", [Int(8), Int(16, False), Int(32), Int(32, False), Int(64), Int(64, False)])
def test_integers_become_the_nearest_numbers(type: Int) -> None:
    edges = [type.minimum, type.maximum, type.maximum - 1, 0, 1, 77, (1 << 24) + 1, (1 << 24) + 3,
             (1 << 62) + (1 << 38) + 1]
    numbers = [n for n in edges if type.contains(n)]
    found = value_of(Cast(Read(0, type), FLOAT32), np.array(numbers, object if type.width > 31 else np.int64))
    for number, result in zip(numbers, found, strict=True):
        candidates = [np.nextafter(result, np.float32(s)) for s in (-np.inf, np.inf)]
        error = abs(Fraction(float(result)) - number)
        assert all(error <= abs(Fraction(float(c)) - number) for c in candidates if np.isfinite(c))


def test_numbers_become_integers_towards_zero() -> None:
    values = singles(1.9, -1.9, 300.5, -0.0, 2147483520.0)
    assert value_of(Cast(Read(0, FLOAT32), Int(32)), values).tolist() == [1, -1, 300, 0, 2147483520]
    assert value_of(Cast(Read(0, FLOAT32), Int(8)), values).tolist() == [1, -1, 44, 0, -128]
    outside = singles(np.nan, np.inf, -np.inf, 3e9, -3e9)
    assert value_of(Cast(Read(0, FLOAT32), Int(32)), outside).tolist() == [-(1 << 31)] * 5
    assert value_of(Cast(Read(0, FLOAT32), Int(32, False)), outside).tolist() == [0, 0, 0, 3000000000, 1294967296]


def test_which_operations_there_are() -> None:
    assert apply("lt", Read(0, FLOAT32), Read(1, FLOAT32)).type == BIT
    assert apply("neg", Read(0, BFLOAT16)).type == BFLOAT16
    with pytest.raises(ProgramError) as error:
        apply("and", Read(0, FLOAT32), Read(0, FLOAT32))
    assert str(error.value) == ("operation 'and' on float8.23: floating-point numbers of up to float11.52 have "
                                + ", ".join(FLOAT_OPERATIONS))
    with pytest.raises(ProgramError) as error:
        apply("add", Read(0, Float(15, 112)), Read(0, Float(15, 112)))
    assert str(error.value).startswith("operation 'add' on float15.112: ")
    with pytest.raises(ProgramError) as error:
        apply("add", Read(0, FLOAT32), Read(0, BFLOAT16))
    assert str(error.value) == "operation 'add' mixes float8.23 and float8.7; cast one of them"


TEXT = """\
program "axpy" {
  input x : float8.23[4]
  input n : int32[4]
  output y : float8.23[4]
  table weights : float8.23 = [1065353216, 3212836864, 1056964608, 2143289344]
  statement S(i) at "axpy.c":3 {
    domain "{ S[i] : 0 <= i <= 3 }"
    read x "{ S[i] -> x[i] }"
    read n "{ S[i] -> n[i] }"
    write y "{ S[i] -> y[i] }"
    %0 = mul(#0:float8.23, 1069547520:float8.23):float8.23
    value select(lt(%0, cast(#1:int32):float8.23):bit, weights[$i:int32]:float8.23, neg(%0):float8.23):float8.23
  }
  order "{ S[i] -> [i] }"
}
"""


def test_a_program_prints_parses_and_runs() -> None:
    program = parse_program(TEXT)
    verify(program)
    assert print_program(program) == TEXT
    x = singles(1, 2, -0.0, 4)
    result = interpret(program, {"x": x, "n": np.array([9, 1, 0, 9])})["y"]
    assert result.dtype == np.float32
    assert encode(FLOAT32, result).tolist() == [0x3F800000, 0xC0400000, 0, 0x7FC00000]
    as_integers = interpret(program, {"x": np.array([1, 2, 0, 4]), "n": np.array([9, 1, 0, 9])})["y"]
    assert as_integers[1] == -3


@pytest.mark.parametrize(("change", "message"), [
    (("1069547520:float8.23", "4294967296:float8.23"),
     "statement 'S' (axpy.c:3): constant 4294967296 does not fit float8.23"),
    (("[1065353216,", "[-1,"), "table 'weights': entry 0, -1, does not fit float8.23"),
    (("$i:int32", "cast(#0:float8.23):fixed8.2"),
     "statement 'S' (axpy.c:3): a conversion with fixed8.2: only integers and floating-point numbers within float8.23 "
     "are supported"),
    (("$i:int32", "#0:float8.23"),
     "statement 'S' (axpy.c:3): a table lookup with float8.23: only integers are supported"),
])
def test_faults_of_a_program(change: tuple[str, str], message: str) -> None:
    with pytest.raises(ProgramError) as error:
        verify(parse_program(TEXT.replace(*change)))
    assert str(error.value) == message


@pytest.mark.parametrize(("data", "message"), [
    (np.array([0.1, 0, 0, 0]), "input 'x' holds 0.1 at (0,), which is no number of type float8.23"),
    (np.array([0, 16777217, 0, 0]), "input 'x' holds 16777217 at (1,), which is no number of type float8.23"),
    (np.array(["a"] * 4), "input 'x' holds <U1"),
])
def test_inputs_are_taken_as_they_are_or_refused(data: np.ndarray, message: str) -> None:
    with pytest.raises(ProgramError) as error:
        interpret(parse_program(TEXT), {"x": data, "n": np.zeros(4, int)})
    assert str(error.value) == f"{message}; the program wants float8.23"


def test_shared_nodes_round_once_each() -> None:
    third: Expr = Read(0, FLOAT32)
    for _ in range(3):
        third = Apply("add", (third, third), FLOAT32)
    kinds: set[Type] = {node.type for node in expr.postorder(third)}
    assert kinds == {FLOAT32}
    assert value_of(third, singles(0.1))[0] == np.float32(0.1) * 8
    assert value_of(Const(encode_number(FLOAT32, 0.1), FLOAT32)).tolist() == [float(np.float32(0.1))]


@pytest.mark.parametrize("form", [FLOAT32, FLOAT64, Float(11, 30), Float(9, 23), Float(5, 40), BFLOAT16])
def test_every_format_is_that_of_mpfr(form: Float) -> None:
    """Sums, products, quotients, roots and fused products with sums of hard operands and near cancellations."""
    generator, top = np.random.default_rng(form.width), (1 << form.exponent) - 1
    bias = top >> 1
    exponents = [0, 1, top - 1, top, *range(bias - 3, bias + 4)]
    words = [np.array([int(e) << form.mantissa | int(f) | int(s) << form.width - 1 for e, f, s in zip(
        generator.choice(exponents, 150), generator.integers(0, 1 << form.mantissa, 150) >> generator.choice(
            [0, 0, form.mantissa - 1], 150), generator.integers(0, 2, 150), strict=True)], np.uint64) for _ in range(3)]
    words[2][::3] = encode(form, apply_float("neg", form, [apply_float("mul", form, [
        decode(form, words[0]), decode(form, words[1])])])).astype(np.uint64)[::3]
    for op, count in (("add", 2), ("sub", 2), ("mul", 2), ("div", 2), ("sqrt", 1), ("mad", 3)):
        found = encode(form, apply_float(op, form, [decode(form, column) for column in words[:count]]))
        expected = mpfr_results(HardwareFloat(form.exponent, form.mantissa), op, words[:count], Rounding.NEAREST_EVEN)
        np.testing.assert_array_equal(found.astype(np.uint64), expected, op)
    values = decode(form, words[0])
    np.testing.assert_array_equal(encode(form, values).astype(np.uint64), words[0])


def test_conversions_to_and_from_double_round_once() -> None:
    doubles = np.array([1 + 2.0**-24, 1 + 2.0**-24 + 2.0**-52, 1e300, -2.0**-150, np.nan, 3.5])
    found = value_of(Cast(Read(0, FLOAT64), FLOAT32), doubles)
    np.testing.assert_array_equal(found, np.array([1, np.nextafter(np.float32(1), np.float32(2)), np.inf, -0.0, np.nan,
                                                   3.5], np.float32))
    integers = np.array([(1 << 62) + 1, (1 << 53) + 1, -(1 << 60) - 129, 7], object)
    assert value_of(Cast(Read(0, Int(64)), FLOAT64), integers).tolist() == [float(int(n)) for n in integers]
    assert value_of(Cast(Read(0, FLOAT64), Int(64)), np.array([1e18, -2.5, 1e19])).tolist() == [
        10**18, -2, -(1 << 63)]
