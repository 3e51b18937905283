"""Scalars that are affine in the iterators, in subscripts, bounds and conditions, compared with gcc."""

from __future__ import annotations

import numpy as np
import pytest
from c_reference import call, compile_c
from test_c_control import data, program_text

from compiler.frontend.c_scop import ScopError, parse_scop
from compiler.ir.interpret import interpret

LOOP = "for (int i = 0; i < 16; i++) {{ {} }}"
BODIES = {
    "a copy and a step": "for (int i = 0; i < 15; i++) { int r = i * 1; r = r + 1; y[i] = a[r] + r; }",
    "a quotient":
        "for (int x = 0; x < 16; x++) { int left = x >> 1; int next = left + 1; y[x] = (a[left] + 3 * "
        "a[next] + 2) / 4; }",
    "a variable stepped by a loop": "int p = 0; for (int i = 0; i < 8; i++) { y[p] = a[p + 1]; p += 2; }",
    "a variable stepped twice, and its end":
        "int p = 1; for (int i = 0; i < 5; i++) { p++; y[p] = a[p]; p += 1; } y[p] = "
        "77;",
    "a variable stepped by an inner loop":
        "int p = 0; for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) { z[p] = a[j * 4 + i]; p++; "
        "}",
    "a variable stepped down at two depths":
        "int p = 15; for (int i = 0; i < 3; i++) { for (int j = 0; j < 4; j++) { z[p] = a[p] + i; p--; } p "
        "-= 1; y[p] = i; }",
    "another value under a condition":
        "for (int i = 0; i < 16; i++) { int k = i; if (i > 7) k = 15 - i; y[i] = a[k]; "
        "}",
    "a value in every branch":
        "for (int i = 0; i < 16; i++) { int k; if (i < 3) { k = 0; } else if (i < 9) k = i - 2; else k = 15; "
        "y[k] = a[i]; }",
    "a choice": "for (int i = 0; i < 16; i++) { int k = i - 2 < 0 ? 0 : i - 2; y[i] = a[k]; }",
    "a narrow type that wraps": "for (int i = 0; i < 16; i++) { uint8_t k = i * 50; y[i] = a[k & 15]; }",
    "a narrow signed type that wraps": "for (int i = 0; i < 16; i++) { int8_t k = i * 50; y[i] = k < 0 ? a[i] : 1; }",
    "an iterator after its loop": "int i; for (i = 0; i < 7; i++) y[i] = a[i]; y[i] = i; z[i + 1] = i * 3;",
    "an iterator after an inner loop":
        "int j; for (int i = 0; i < 8; i++) { for (j = i; j < 8; j++) z[j] += a[i]; y[i] = j; "
        "}",
    "an iterator with an older value": "int i = 5; for (i = 0; i < 4; i++) y[i] = 1; y[9] = i;",
    "a bound": "for (int i = 0; i < 16; i++) { int n = 16 - i; for (int j = 0; j < n; j++) z[i] += a[j]; }",
    "a count of data": "int c = 0; for (int i = 0; i < 16; i++) { if (a[i] > 3) c++; y[i] = c; }",
    "two variables of one name": "int p = 2; for (int i = 0; i < 4; i++) { int p = i; y[p] = 1; } z[p] = 4;",
    "a counter that starts again": "int c = 0; for (int i = 0; i < 16; i++) { if (c == 3) c = 0; y[i] = c; c++; }",
    "the end of a tile":
        "for (int t = 0; t < 16; t += 4) { int end = t + 4 < 14 ? t + 4 : 14; for (int i = t; i < end; i++) "
        "y[i] = a[i] * t; }",
    "a start value from outside":
        "int i, k; for (i = 0; i < 4; i++) { k = i; for (int j = 0; j < 4; j++) { y[k] = a[j] + k; k += 4; } "
        "}",
    "a loop to inequality": "for (int i = 0; i != 12; i += 3) y[i] = a[i];",
    "a counter after while": "int i = 15; while (i >= 0) { y[i] = a[i]; i -= 2; } z[0] = i;",
    "a variable of a branch":
        "for (int i = 0; i < 16; i++) { int k = i; if (a[i] > 0) { int m = k / 2; y[i] = a[m]; } else y[i] = "
        "2; }",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    texts = {f"f{k}": program_text(body).replace("void f(", f"void f{k}(") for k, body in enumerate(BODIES.values())}
    return compile_c(tmp_path_factory.mktemp("local_values"), texts)


@pytest.mark.parametrize("case", BODIES)
def test_results_are_those_of_gcc(case, library):
    program = parse_scop(program_text(BODIES[case]))
    memory = data()
    results = interpret(program, {array.name: memory[array.name.removesuffix("_in")] for array in program.inputs})
    call(library, f"f{list(BODIES).index(case)}", list(memory.values()))
    for name, values in results.items():
        np.testing.assert_array_equal(values, memory[name])


REFUSALS = {
    "int k = 0, j; for (int i = 0; i < 16; i++) { if (a[i]) for (j = 0; j < 4; j++) z[j] = i; y[i] = j; }":
        "4:97: 'j' is set by a loop under a condition on data; count in a variable of its own",
}


@pytest.mark.parametrize("body", REFUSALS)
def test_refusals_say_why_a_variable_is_not_known(body):
    with pytest.raises(ScopError) as raised:
        parse_scop(program_text(body))
    assert str(raised.value) == f"scop.c:{REFUSALS[body]}"


def test_a_variable_that_is_never_assigned_keeps_its_initial_value():
    body = "    for (int i = 0; i < 4; i++) { y[i] = s; if (i > 57) s = 9; }"
    text = f"void f(int y[4]) {{\n    int s = 7;\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    program = parse_scop(text)
    assert not program.inputs
    np.testing.assert_array_equal(interpret(program, {})["y"], [7] * 4)
