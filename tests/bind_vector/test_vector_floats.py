"""Floating-point numbers on the vector target, on the reference machine: bit for bit what the program means."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import compiler
from compiler.bind.vector.errors import VectorTargetError
from compiler.frontend.c_scop import parse_scop
from compiler.frontend.parallel_array import ArrayError, dot, input, maximum, minimum, sliding_window_view, where
from compiler.frontend.parallel_array.element_types import BFLOAT16 as HALF
from compiler.frontend.parallel_array.element_types import FLOATS
from compiler.frontend.parallel_array.program import program_of
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.types import BFLOAT16
from hw.vector_lanes.streams import random_floats

COUNT = 90


def numbers(program: Program, seed: int = 1) -> dict[str, np.ndarray]:
    """Inputs: floating-point ones of every kind, small integers."""
    rng, found = np.random.default_rng(seed), {}
    for array in program.inputs:
        count, kind = int(np.prod(array.shape)), array.type.dtype
        patterns = random_floats(rng, count) & (0xFFFF0000 if array.type == BFLOAT16 else 0xFFFFFFFF)
        words = patterns.view(np.float32) if kind == np.float32 else rng.integers(0, 1 << 15, count)
        found[array.name] = words.astype(kind, copy=False).reshape(array.shape)
    return found


def words(values: Any) -> np.ndarray:
    """Patterns."""
    found = np.atleast_1d(values)
    return found.view(f"u{found.itemsize}") if found.dtype in FLOATS else found


X, Y, N = input("x", COUNT, "float32"), input("y", COUNT, "float32"), input("n", COUNT, "int16")


def expressions(kind: str) -> dict[str, Any]:
    """Of every operation that there is one on numbers of a type."""
    x, y, n = input("x", COUNT, kind), input("y", COUNT, kind), N
    return {
        "saxpy": y + 2.5 * x, "difference": 1.5 - x * y, "number": x - 1.5, "less": x < y, "at least": x >= 0.25,
        "equal": x == y, "unequal": x != x, "sign": abs(x) + -y, "cut": x.astype("int32"),
        "unsigned": x.astype("uint32"), "byte": x.astype("uint8"), "choice": where(x < y, x, 0.0),
        "integers": n.astype(kind) * 0.5 + (n.astype(kind) + y),
        "limits": minimum(maximum(x, -0.0), 3.0), "swapped": maximum(0.0, minimum(x, y)),
        "scalar": x[5:] * y[2] + x[:-5], "windows": sliding_window_view(x, 3).sum(axis=-1), "dot": dot(x[:20], y[:20]),
        "column": x[::3] * y[1::3], "other": x.astype("float32") * 1.1,
        "narrow": (x.astype("float32") * 1.1).astype(HALF),
        "mixed": where(n > 0, x, y) + x.astype(HALF).astype(kind),
    }


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_expressions(kind: str) -> None:
    rng, dtype = np.random.default_rng(3), np.dtype(kind)
    given = {"x": random_numbers(rng, dtype), "y": random_numbers(rng, dtype),
             "n": rng.integers(-999, 999, COUNT).astype(np.int16)}
    options: dict[str, Any] = {"lanes": 2, "float32": True, "bfloat16": True, "search": False}
    for name, expression in expressions(kind).items():
        used = {key: given[key] for key in program_of(expression).inputs}
        wanted = compiler.evaluate(expression, used, target="numpy")
        found = compiler.evaluate(expression, used, target="machine", **options)
        np.testing.assert_array_equal(words(found), words(wanted), err_msg=name)


def random_numbers(rng: np.random.Generator, dtype: np.dtype) -> np.ndarray:
    """Of every kind."""
    patterns = random_floats(rng, COUNT)
    return patterns.view(np.float32) if dtype == np.float32 else (patterns >> 16).astype(np.uint16).view(dtype)


PROGRAMS = {
    "saxpy": "const float x[50], float y[50]) { for (int i = 0; i < 50; i++) y[i] = y[i] + 2.5f * x[i]; }",
    "fir": """const float h[4], const float x[33], float y[30]) { for (int i = 0; i < 30; i++) { float sum = 0;
        for (int k = 3; k >= 0; k--) sum += h[k] * x[i + 3 - k]; y[i] = sum; } }""",
    "fir2d": """const float h[2][3], const float x[7][12], float y[6][10]) { for (int i = 0; i < 6; i++)
        for (int j = 0; j < 10; j++) { y[i][j] = 0; for (int k = 0; k < 2; k++) for (int l = 0; l < 3; l++)
        y[i][j] += h[k][l] * x[i + k][j + l]; } }""",
    "matmul": """const float a[5][6], const float b[6][7], float c[5][7]) { for (int i = 0; i < 5; i++)
        for (int j = 0; j < 7; j++) { c[i][j] = 0; for (int k = 0; k < 6; k++) c[i][j] += a[i][k] * b[k][j]; } }""",
    "triangle": """const float a[9][9], float c[9]) { for (int i = 0; i < 9; i++) { c[i] = 1;
        for (int k = 0; k <= i; k++) c[i] -= a[i][k]; } }""",
    "conversions": """const short x[40], const unsigned n[40], float z[40], unsigned u[40], unsigned char b[40]) {
        for (int i = 0; i < 40; i++) { z[i] = x[i] * 0.1f + n[i]; u[i] = (unsigned)z[i]; b[i] = (unsigned char)z[i]; } }
        """,
    "largest": """const float x[4][30], float z[30]) { for (int i = 0; i < 30; i++) { z[i] = x[0][i];
        for (int k = 1; k < 4; k++) if (x[k][i] > z[i]) z[i] = x[k][i]; } }""",
    "recurrence": """const float x[12], float z[12]) { z[0] = x[0];
        for (int i = 1; i < 12; i++) z[i] = z[i - 1] * 0.5f + x[i]; }""",
}


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, half: bool) -> None:
    """In float, and with pairs in bfloat16."""
    text = f"void f({PROGRAMS[name]}"
    if half:
        text = re.sub(r"(\d\.\d+)f", r"(__bf16)\1f", text.replace("float", "__bf16"))
    program = parse_scop(text, "f.c")
    design = compiler.compile(program, target="vector", lanes=2, float32=True, bfloat16=half, search=False)
    inputs = numbers(program)
    found, wanted = design.execute(inputs), interpret(program, inputs)
    for output, values in wanted.items():
        np.testing.assert_array_equal(words(found[output]), words(values))


def test_products_and_sums_take_their_wavefronts_and_no_more() -> None:
    """An element that stands for a row needs no copies."""
    program = parse_scop(f"void f({PROGRAMS['matmul'].replace('7', '8')}", "f.c")
    design = compiler.compile(program, target="vector", lanes=2, float32=True, search=False)
    assert design.figures.wavefronts == 2 * 5 * 8 * 6 // 2


def test_pairs_take_half_the_wavefronts() -> None:
    text = PROGRAMS["matmul"].replace("7", "8").replace("float", "__bf16")
    program = parse_scop(f"void f({text}", "f.c")
    design = compiler.compile(program, target="vector", lanes=2, bfloat16=True, search=False)
    assert design.figures.wavefronts == 5 * 8 * 6 // 2


def test_products_with_numbers_are_added_in_one_instruction() -> None:
    """It rounds the product, too."""
    value = " + ".join(f"x[i + {k}] * {number}f" for k, number in enumerate((0.1, 0.5, 3.7, -0.3)))
    program = parse_scop(f"void f(const float x[43], float y[40]) {{ for (int i = 0; i < 40; i++) y[i] = {value}; }}")
    design = compiler.compile(program, target="vector", lanes=2, float32=True, search=False)
    inputs = numbers(program)
    np.testing.assert_array_equal(words(design.execute(inputs)["y"]), words(interpret(program, inputs)["y"]))
    assert design.figures.wavefronts == 4 * 40 // 2


@pytest.mark.parametrize(("value", "float32", "message"), [
    ("x[i] + 1.5f", False, "computes with floating-point numbers, which lanes do if they are asked for: give the "
                           "option float32 (float32=True, --option float32=true)"),
    ("1.0f / x[i]", True, "division of float32 is unsupported by the vector target: multiply by a reciprocal, or take "
                          "the target dataflow or fpga, which divide"),
    ("sqrtf(x[i])", True, "square roots of float32 are unsupported by the vector target; the targets dataflow and fpga "
                          "have them"),
    ("x[i] * 0.1", True, "values of type float11.52 are unsupported; the vector target has integers of up to 32 bits, "
                         "float32 and bfloat16"),
    ("(__bf16)x[i] * (__bf16)x[i]", True, "computes with floating-point numbers, which lanes do if they are asked for: "
                                          "give the option bfloat16 (bfloat16=True, --option bfloat16=true)"),
])
def test_what_there_is_not_is_refused(value: str, float32: bool, message: str) -> None:
    text = f"#include <math.h>\nvoid f(const float x[9], float y[9]) {{ for (int i = 0; i < 9; i++) y[i] = {value}; }}"
    with pytest.raises(VectorTargetError) as error:
        compiler.compile(parse_scop(text, "f.c"), target="vector", float32=float32)
    assert f"{error.value}".startswith("statement 'S0' (f.c:2)") and f"{error.value}".endswith(message)


def test_sums_that_are_too_long_are_refused() -> None:
    text = "void f(const float x[2000], float y[1]) { y[0] = 0; for (int i = 0; i < 2000; i++) y[0] += x[i]; }"
    with pytest.raises(VectorTargetError, match="2000 terms of a floating-point sum are added up in order; the vector"):
        compiler.compile(parse_scop(text, "f.c"), target="vector", float32=True)


def test_expressions_that_there_are_not_are_refused() -> None:
    with pytest.raises(VectorTargetError, match="add of float32 needs floating-point lanes"):
        compiler.evaluate(X + Y, {}, target="machine")
    with pytest.raises(VectorTargetError, match="the vector processor has no divide of floating-point numbers"):
        compiler.evaluate(X / Y, {}, target="machine")
    with pytest.raises(ArrayError, match="there is no bitwise_and of float32"):
        _ = X & Y
    with pytest.raises(ArrayError, match=r"the number 1\.5 and int16 have no common type of 32 bits"):
        _ = N + 1.5
