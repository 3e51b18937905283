"""Floats in C: the interpreter computes what gcc's code computes, bit for bit but for the bits of not-a-numbers."""

from __future__ import annotations

import tempfile
from ctypes import CDLL
from pathlib import Path
from random import Random

import ml_dtypes
import numpy as np
import pytest
from c_reference import call, compile_c
from random_float_c import SIZE, FloatFunction, random_float_function

from compiler.frontend.c_scop import parse_scop
from compiler.ir.expr import Apply, Cast
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.types import FLOAT32, FLOAT64

SPECIAL = np.array([0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 1, 0x807FFFFF, 0x00800000, 0x7F7FFFFF,
                    0x3F800001], np.uint32).view(np.float32)


def same_numbers(found: np.ndarray, expected: np.ndarray) -> None:
    """Equal bits, or both no number."""
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected)
        return
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    numbers, words = ~np.isnan(expected), f"u{expected.itemsize}"
    np.testing.assert_array_equal(found[numbers].view(words), expected[numbers].view(words))


def gcc(function: str, text: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """`arrays`, in the order of the parameters, after a call of gcc's code."""
    after = {name: array.copy() for name, array in arrays.items()}
    with tempfile.TemporaryDirectory() as folder:
        call(compile_c(Path(folder), {"kernel": text}), function, list(after.values()))
    return after


def test_random_functions_compute_what_gcc_computes() -> None:
    random, generator = Random(5), np.random.default_rng(5)
    functions = [random_float_function(random, f"f{number}") for number in range(24)]
    with tempfile.TemporaryDirectory() as folder:
        library = compile_c(Path(folder), {function.name: function.text for function in functions})
    for function in functions:
        compare(library, function, generator)


@pytest.mark.parametrize("type_", ["float", "double"])
def test_functions_of_math_and_double_compute_what_gcc_computes(type_: str) -> None:
    random, generator = Random(8), np.random.default_rng(8)
    functions = [random_float_function(random, f"g{number}", type_, functions=True) for number in range(12)]
    with tempfile.TemporaryDirectory() as folder:
        library = compile_c(Path(folder), {f.name: "#include <math.h>\n" + f.text for f in functions})
    for function in functions:
        compare(library, function, generator)


@pytest.mark.parametrize("type_, suffix", [("float", "f"), ("double", ""), ("_Float16", "")])
def test_minima_and_maxima_of_every_pair_of_special_numbers_are_those_of_gcc(type_: str, suffix: str) -> None:
    text = f"""#include <math.h>
    void f(const {type_} x[10], {type_} least[10][10], {type_} most[10][10]) {{
      for (int i = 0; i < 10; i++)
        for (int j = 0; j < 10; j++) {{
          least[i][j] = fmin{suffix}(x[i], x[j]);
          most[i][j] = fmax{suffix}(x[i], x[j]);
        }}
    }}
    """
    with np.errstate(over="ignore"):
        x = SPECIAL.astype({"float": np.float32, "double": np.float64, "_Float16": np.float16}[type_])
    after = gcc("f", text, {"x": x, "least": np.zeros((10, 10), x.dtype), "most": np.zeros((10, 10), x.dtype)})
    found = interpret(parse_scop(text), {"x": x})
    for name, result in found.items():
        same_numbers(result.astype(x.dtype), after[name])


def compare(library: CDLL, function: FloatFunction, generator: np.random.Generator) -> None:
    program = parse_scop(function.text)
    for kind in range(3):
        dtype = np.dtype({"float": np.float32, "double": np.float64}[function.type])
        a, b = generator.standard_normal((2, SIZE)).astype(dtype)
        if kind == 1:
            a, b = generator.choice(SPECIAL, (2, SIZE)).astype(dtype)
        if kind == 2:
            words = generator.integers(0, 1 << 8 * dtype.itemsize, (2, SIZE), np.uint64, endpoint=False) \
                if dtype.itemsize < 8 else generator.integers(0, (1 << 64) - 1, (2, SIZE), np.uint64)
            a, b = words.astype(f"u{dtype.itemsize}").view(dtype)
        n = generator.integers(-(1 << 31), 1 << 31, SIZE).astype(np.int32)
        memory = {"a": a, "b": b, "n": n, "y": np.zeros_like(a), "z": np.zeros_like(a), "m": np.zeros_like(n)}
        call(library, function.name, list(memory.values()))
        found = interpret(program, {array.name: memory[array.name] for array in program.inputs})
        for name, result in found.items():
            same_numbers(result, memory[name])


CONVERSIONS = """
void f(const float x[16], const int n[16], signed char c[16], unsigned char uc[16], short s[16], int i[16],
       unsigned u[16], long l[16], float y[16], float z[16]) {
#pragma scop
  for (int k = 0; k < 16; k++) {
    c[k] = x[k];
    uc[k] = (unsigned char)x[k];
    s[k] = x[k];
    i[k] = x[k] * 3;
    u[k] = x[k];
    l[k] = x[k];
    y[k] = n[k];
    z[k] = (unsigned)n[k] + (float)(short)n[k];
  }
#pragma endscop
}
"""


def test_conversions_are_those_of_gcc() -> None:
    x = np.array([0, -0.0, 0.99, -0.99, 126.9, -127.9, 255.5, 300, -300, 40000, 1e9, 2147483520, 3e9, -7e4, 1e7,
                  5], np.float32)
    n = np.array([0, 1, -1, 16777217, 16777219, -16777217, 2147483647, -2147483648, *range(8)], np.int32)
    kinds = {"c": np.int8, "uc": np.uint8, "s": np.int16, "i": np.int32, "u": np.uint32, "l": np.int64, "y": np.float32,
             "z": np.float32}
    zeros = {name: np.zeros(16, kind) for name, kind in kinds.items()}
    after = gcc("f", CONVERSIONS, {"x": x, "n": n, **zeros})
    for name, result in interpret(parse_scop(CONVERSIONS), {"x": x, "n": n}).items():
        if name in ("i", "u", "l", "y", "z"):
            same_numbers(result, after[name])
        else:
            np.testing.assert_array_equal(result[np.abs(x) < 30000], after[name][np.abs(x) < 30000])


def one_element(body: str, before: str = "") -> Program:
    text = f"{before}\nvoid f(const float x[4], float y[4]) {{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    return parse_scop(text)


@pytest.mark.parametrize(("body", "value"), [
    ("0.1f", 0x3DCCCCCD), ("0.1", 0x3DCCCCCD), ("1", 0x3F800000), ("-0.0f", 0x80000000), ("1.0f / 3", 0x3EAAAAAB),
    ("1.0000000596046448f", 0x3F800001), ("1.0000000596046448", 0x3F800000), ("0x1.8p1f", 0x40400000),
    (".5e1f", 0x40A00000), ("1e-45f", 1), ("1e39f", 0x7F800000), ("(float)(1.0 / 3.0)", 0x3EAAAAAB),
    ("-1.5f * 2", 0xC0400000), ("0.0f / 0.0f != 0.0f / 0.0f", 0x3F800000), ("(int)2.9f", 0x40000000),
    ("(unsigned char)-1.0f + 0.5f", 0x437F8000), ("K", 0x3FC00000), ("T[2]", 0x3E800000), ("M", 0xBE800000),
    ("(2.5 > 2) - 0.5", 0x3F000000), ("2.0 < 1.0", 0), ("0.5 == 2", 0), ("0.0 != 0.0", 0), ("0.5 && 1", 0x3F800000),
    ("0.0 || 0.0", 0), ("0.25 <= 0.5 ? 2.0f : 1.0f", 0x40000000),
])
def test_constants_are_exact(body: str, value: int) -> None:
    before = "static const float K = 1.5, T[3] = {1, 2.0f, 0.25};\n#define M -0.25f"
    program = one_element(f"for (int i = 0; i < 4; i++) y[i] = {body};", before)
    assert interpret(program, {})["y"].view(np.uint32).tolist() == [value] * 4


def test_arithmetic_stays_as_it_is_written() -> None:
    program = one_element("for (int i = 0; i < 4; i++) y[i] = (x[i] + 1e8f) - 1e8f + x[i] / 4.0f - x[i] / 3.0f;")
    text = str([statement.value for statement in program.statements])
    assert text.count("'div'") == 1 and text.count("'mul'") == 1 and "'min'" not in text
    x = np.array([1.5, 2.25, -3.0, 1e-40], np.float32)
    big = np.float32(1e8)
    assert (interpret(program, {"x": x})["y"] == (x + big) - big + x / np.float32(4) - x / np.float32(3)).all()


def test_negations_of_comparisons_hold_for_what_is_no_number() -> None:
    program = one_element("for (int i = 0; i < 4; i++) y[i] = !(x[i] < 1.0f) + 2 * (x[i] >= 1.0f);")
    assert interpret(program, {"x": np.array([0, 1, np.nan, 2], np.float32)})["y"].tolist() == [0, 3, 1, 3]


def test_a_scalar_parameter_is_an_input_or_a_constant() -> None:
    text = ("void f(float k, const float x[4], float y[4]) {\n#pragma scop\n"
            "for (int i = 0; i < 4; i++) y[i] = k * x[i];\n#pragma endscop\n}\n")
    x = np.arange(4, dtype=np.float32)
    assert interpret(parse_scop(text), {"k": np.array([2.5]), "x": x})["y"].tolist() == [0, 2.5, 5, 7.5]
    assert interpret(parse_scop(text, k=3), {"x": x})["y"].tolist() == [0, 3, 6, 9]


HALVES = """
void h(const _Float16 x[16], const _Float16 w[16], _Float16 y[16], float z[16]) {
#pragma scop
  for (int i = 0; i < 16; i++) {
    y[i] = x[i] * w[i] - w[15 - i];
    z[i] = x[i] / w[i] + 0.1f;
  }
#pragma endscop
}
"""


def test_half_precision_is_that_of_gcc() -> None:
    x, w = np.random.default_rng(2).standard_normal((2, 16)).astype(np.float16)
    arrays = {"x": x, "w": w, "y": np.zeros_like(x), "z": np.zeros(16, np.float32)}
    after = {name: array.copy() for name, array in arrays.items()}
    with tempfile.TemporaryDirectory() as folder:
        call(compile_c(Path(folder), {"h": HALVES}, "-fexcess-precision=16"), "h", list(after.values()))
    found = interpret(parse_scop(HALVES), {"x": x, "w": w})
    np.testing.assert_array_equal(found["y"], after["y"].astype(np.float32))
    np.testing.assert_array_equal(found["z"], after["z"])


def test_bfloat16_rounds_each_operation() -> None:
    text = HALVES.replace("_Float16", "__bf16")
    x, w = np.random.default_rng(2).standard_normal((2, 16)).astype(ml_dtypes.bfloat16)
    found = interpret(parse_scop(text), {"x": x.astype(np.float32), "w": w.astype(np.float32)})
    np.testing.assert_array_equal(found["y"], (x * w - w[::-1]).astype(np.float32))


def test_a_product_in_double_that_becomes_a_float_is_one_in_float() -> None:
    halved = one_element("for (int i = 0; i < 4; i++) y[i] = x[i] * 0.5;").statements[0].value
    assert isinstance(halved, Apply) and halved.type == FLOAT32
    tenth = one_element("for (int i = 0; i < 4; i++) y[i] = x[i] * 0.1;").statements[0].value
    assert isinstance(tenth, Cast) and tenth.arg.type == FLOAT64


FUNCTIONS = """
#include <math.h>
void functions(const float x[64], const double d[64], float y[256], double z[256]) {
#pragma scop
  for (int i = 0; i < 64; i++) {
    y[i] = expf(x[i]); y[64 + i] = logf(x[i]); y[128 + i] = sinf(x[i]); y[192 + i] = cosf(x[i]);
    z[i] = exp(d[i]); z[64 + i] = log(d[i]); z[128 + i] = sin(d[i]); z[192 + i] = cos(d[i]);
  }
#pragma endscop
}
"""


def test_exponentials_logarithms_sines_and_cosines_are_near_those_of_gcc() -> None:
    """Neither our results nor those of gcc's library are rounded correctly: they differ by a unit at most."""
    generator = np.random.default_rng(2)
    drawn = generator.standard_normal(64) * 10.0 ** generator.integers(-4, 2, 64)
    arrays = {"x": drawn.astype(np.float32), "d": drawn, "y": np.zeros(256, np.float32), "z": np.zeros(256)}
    wanted = gcc("functions", FUNCTIONS, arrays)
    found = interpret(parse_scop(FUNCTIONS), {"x": arrays["x"], "d": arrays["d"]})
    for name in ("y", "z"):
        np.testing.assert_array_equal(np.isnan(found[name]), np.isnan(wanted[name]))
        numbers = ~np.isnan(wanted[name])
        np.testing.assert_array_max_ulp(found[name][numbers], wanted[name][numbers], maxulp=1)
