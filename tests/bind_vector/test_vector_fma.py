"""Fused multiply-add on the vector target, on the reference machine: bit for bit what gcc's fmaf gives."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from c_targets import Data, gcc_results, inputs_of

import compiler
from compiler.bind.vector.errors import VectorProgramError, VectorTargetError
from compiler.bind.vector.text import parse_program, print_program
from compiler.frontend.c_scop import parse_scop
from compiler.frontend.kernel import mad
from compiler.frontend.loop_nest import prog
from compiler.frontend.parallel_array import ArrayError, fma, input, program
from compiler.frontend.parallel_array.element_types import BFLOAT16, FLOATS
from compiler.frontend.parallel_array.lowering import loop_nests
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from hw.vector_lanes.streams import random_floats

COUNT = 90
OPTIONS: dict[str, Any] = {"lanes": 2, "float32": True, "fma": True, "search": False}


def numbers(count: int, seed: int) -> np.ndarray:
    """Of every kind."""
    return random_floats(np.random.default_rng(seed), count).view(np.float32)


def words(values: Any) -> np.ndarray:
    """Patterns."""
    found = np.atleast_1d(values)
    return found.view(f"u{found.itemsize}") if found.dtype in FLOATS else found


VECTORS = "const float a[50], const float b[50], const float c[50], float y[50]"

EXPRESSIONS = {
    "vectors": "fmaf(a[i], b[i], c[i])", "a number and vectors": "fmaf(2.5f, b[i], c[i])",
    "vectors and a number": "fmaf(a[i], b[i], -1.5f)", "a number twice": "fmaf(a[i], 3.0f, 1.0f)",
    "a product of numbers": "fmaf(0.1f, 0.1f, c[i])", "numbers": "fmaf(0.1f, 0.1f, -0.01f)",
    "a difference": "fmaf(-a[i], b[i], -c[i])", "to itself": "fmaf(a[i], b[i], y[i])",
    "of itself": "fmaf(y[i], y[i], y[i])", "of one sum": "fmaf(a[i] + b[i], a[i] + b[i], a[i] + b[i])",
    "backwards": "fmaf(a[49 - i], b[i], c[49 - i])", "of an element": "fmaf(a[7], b[i], c[3])",
    "a polynomial": "fmaf(fmaf(fmaf(0.3f, a[i], -0.7f), a[i], 1.3f), a[i], 0.1f)",
}  # fmt: skip

PROGRAMS = {
    **{name: f"{VECTORS}) {{ for (int i = 0; i < 50; i++) y[i] = {value}; }}" for name, value in EXPRESSIONS.items()},
    "fir": """const float h[4], const float x[33], float y[30]) { for (int i = 0; i < 30; i++) { float sum = 0;
        for (int k = 3; k >= 0; k--) sum = fmaf(h[k], x[i + 3 - k], sum); y[i] = sum; } }""",
    "dot": """const float a[60], const float b[60], float y[1]) { float s = 0;
        for (int i = 0; i < 60; i++) s = fmaf(a[i], b[i], s); y[0] = s; }""",
    "matmul": """const float a[5][6], const float b[6][8], float c[5][8]) { for (int i = 0; i < 5; i++)
        for (int j = 0; j < 8; j++) { c[i][j] = 0; for (int k = 0; k < 6; k++)
        c[i][j] = fmaf(a[i][k], b[k][j], c[i][j]); } }""",
    "a larger matmul": """const float a[18][18], const float b[18][18], float c[18][18]) { for (int i = 0; i < 18; i++)
        for (int j = 0; j < 18; j++) { c[i][j] = 0; for (int k = 0; k < 18; k++)
        c[i][j] = fmaf(a[i][k], b[k][j], c[i][j]); } }""",
    "a long dot": """const float a[1030], const float b[1030], float y[1]) { y[0] = 0;
        for (int i = 0; i < 1030; i++) y[0] = fmaf(a[i], b[i], y[0]); }""",
    "triangle": """const float a[9][9], const float x[9], float y[9]) { for (int i = 0; i < 9; i++) { y[i] = 1;
        for (int k = 0; k <= i; k++) y[i] = fmaf(a[i][k], x[k], y[i]); } }""",
    "recurrence": """const float x[12], float z[12]) { z[0] = x[0];
        for (int i = 1; i < 12; i++) z[i] = fmaf(z[i - 1], 0.5f, x[i]); }""",
    "if": """const float x[40], float z[40]) { for (int i = 0; i < 40; i++) { z[i] = x[i];
        if (x[i] > 0) z[i] = fmaf(x[i], x[i], 0.3f); } }""",
}  # fmt: skip


def _text(name: str) -> str:
    return f"#include <math.h>\nvoid f({PROGRAMS[name]}\n"


def _data(text: str, usual: bool) -> Data:
    """Numbers for all parameters: of every kind, or `usual` ones, whose long sums are numbers."""
    found = {}
    for seed, (name, extents) in enumerate(re.findall(r"float (\w+)((?:\[\d+\])+)[,)]", text)):
        shape = tuple(map(int, re.findall(r"\d+", extents)))
        count = int(np.prod(shape))
        values = np.random.default_rng(seed).standard_normal(count, np.float32) if usual else numbers(count, seed)
        found[name] = values.reshape(shape).copy()
    return found


def _compiled(text: str, **options: Any) -> tuple[Program, Any]:
    found = parse_scop(text, "f.c")
    return found, compiler.compile(found, target="vector", **OPTIONS | options)


@pytest.mark.parametrize("usual", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_what_gcc_gives(name: str, usual: bool) -> None:
    text = _text(name)
    data, (found, design) = _data(text, usual), _compiled(text)
    results, of_gcc = design.execute(inputs_of(found, data)), gcc_results(text, "f", data)
    for output, wanted in interpret(found, inputs_of(found, data)).items():
        np.testing.assert_array_equal(words(results[output]), words(wanted))
        given, there = of_gcc[output.removesuffix("_out")], ~np.isnan(wanted)
        np.testing.assert_array_equal(np.isnan(given), ~there)
        np.testing.assert_array_equal(words(given)[there], words(wanted)[there])


@pytest.mark.parametrize(("name", "wavefronts"), [
    ("vectors", 3 * 25), ("a number and vectors", 2 * 25), ("a polynomial", (1 + 1 + 2 * 3) * 25),
    ("matmul", (1 + 2 * 6) * 20), ("a larger matmul", (1 + 2 * 18) * 18 * 9),
])  # fmt: skip
def test_wavefronts(name: str, wavefronts: int) -> None:
    """What is added to is copied to the result if it is an input; an element that stands for a row needs no copies."""
    _, design = _compiled(_text(name))
    assert design.figures.wavefronts == wavefronts


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_expressions(kind: str) -> None:
    x, y, n = input("x", COUNT, kind), input("y", COUNT, kind), input("n", COUNT, "int16")
    expressions = {
        "vectors": fma(x, y, x), "a number": fma(x, 0.3, y), "three": fma(x, 0.3, 1.5),
        "reversed": fma(x[::-1], y, y[::-1]), "every third": fma(x[::3], y[1::3], 1.0),
        "converted": fma(n.astype(kind), x, y).astype("float32"),
        "outer": fma(x[:8, None], y[None, :10], 0.5), "added": fma(x, y, -(x * y)) + 1.0,
    }  # fmt: skip
    given = {
        "x": numbers(COUNT, 1) if kind == "float32" else _halves(COUNT, 1),
        "y": numbers(COUNT, 2) if kind == "float32" else _halves(COUNT, 2),
        "n": np.arange(COUNT, dtype=np.int16) - 45,
    }
    for name, expression in expressions.items():
        used = {key: given[key] for key in program("f", out=expression).inputs}
        wanted = compiler.evaluate(expression, used, target="numpy")
        found = compiler.evaluate(expression, used, target="machine", bfloat16=True, **OPTIONS)
        np.testing.assert_array_equal(words(found), words(wanted), err_msg=name)
        nest = interpret(loop_nests(program("f", out=expression)), {key: _held(data) for key, data in used.items()})
        np.testing.assert_array_equal(words(nest["out"]), words(_held(wanted)), err_msg=name)


def _held(data: np.ndarray) -> np.ndarray:
    """As the interpreter holds it: bfloat16 in 32 bits."""
    return data.astype(np.float32) if data.dtype == BFLOAT16 else data


def test_loop_nests_in_bfloat16() -> None:
    nest = prog("nest", "bfloat16")
    for name in "abc":
        nest.add_input(name, (30,))
    nest.add_output("y", (30,))
    op = nest.add_loop("i", 0, 30).add_op("S")
    op.add_function(mad)
    for name in "abc":
        op.add_load(name, "i")
    op.add_store("y", "i")
    program = nest.build()
    design = compiler.compile(program, target="vector", lanes=2, bfloat16=True, fma=True)
    given = {name: _halves(30, seed).astype(np.float32) for seed, name in enumerate("abc")}
    np.testing.assert_array_equal(words(design.execute(given)["y"]), words(interpret(program, given)["y"]))
    with pytest.raises(VectorTargetError, match=r"rounds a product and a sum once, .* give the option fma \(fma=True"):
        compiler.compile(program, target="vector", lanes=2, bfloat16=True)


def _halves(count: int, seed: int) -> np.ndarray:
    return (words(numbers(count, seed)) >> 16).astype(np.uint16).view(BFLOAT16)


def test_lanes_without_it_are_named() -> None:
    text = _text("vectors")
    with pytest.raises(VectorTargetError) as error:
        _compiled(text, fma=False)
    assert str(error.value) == (
        "statement 'S0' (f.c:2) rounds a product and a sum once, which lanes do if they are asked for: give the option "
        "fma (fma=True, --option fma=true), or write a * b + c, which rounds twice"
    )
    with pytest.raises(VectorTargetError, match=r"give the option float32 \(float32=True"):
        _compiled(text, float32=False)
    x = input("x", COUNT, "float32")
    with pytest.raises(VectorTargetError) as error:
        compiler.evaluate(fma(x, x, x), {"x": numbers(COUNT, 1)}, target="machine", float32=True)
    assert str(error.value).endswith(
        "fma of float32 needs lanes with fused multiply-add: give the option fma (fma=True, --option fma=true)"
    )


def test_integers_are_refused() -> None:
    n = input("n", COUNT, "int16")
    with pytest.raises(ArrayError, match=r"fma takes float32 or bfloat16, not int16: write a \* b \+ c"):
        fma(n, 2, n)


def test_text_and_c_name_the_instruction() -> None:
    _, design = _compiled(_text("vectors"))
    text = print_program(design.code)
    assert "run VFMA VV F F S 1D d " in text and print_program(parse_program(text)) == text
    assert "vector(VVF, VFMA, " in design.c_code
    with pytest.raises(VectorProgramError, match=r"^line 2: VFMA goes with floating-point numbers$"):
        parse_program("program p scratchpad 64\nrun VFMA VV W W S 1D d 0 a 0 b 0")
