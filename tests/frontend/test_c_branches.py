"""Branches on data whose every way assigns: selections, no inputs that nobody wrote, and C's conversions."""

from __future__ import annotations

import numpy as np
import pytest
from c_targets import MODELS, gcc_results, inputs_of

from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret

HEAD = ("#include <stdint.h>\n"
        "void f(const int16_t a[12], const uint32_t b[12], int64_t x[12], int16_t y[12]) {\n#pragma scop\n")
BODIES = {
    "else if": "if (a[i] < 10) x[i] = 0; else if (a[i] < 20) x[i] = 1; else x[i] = 2;",
    "else if in blocks": "if (a[i] < 10) { x[i] = 0; } else { if (a[i] < 20) { x[i] = 1; } else { x[i] = 2; } }",
    "a local": "int8_t d; if (a[i] < 10) d = 0; else if (a[i] < 20) d = 1; else d = 2; x[i] = d;",
    "no common type": "if (a[i] < 0) x[i] = -1; else x[i] = 3u;",
    "no common type in three ways": "if (a[i] < 0) x[i] = a[i]; else if (a[i] < 9) x[i] = b[i]; else x[i] = -b[i];",
    "two targets": "if (a[i] < 0) { x[i] = 1; y[i] = a[i]; } else { y[i] = 3; x[i] = y[i] + a[i]; }",
    "two targets in three ways": """if (a[i] < 0) { x[i] = 1; y[i] = 4; }
      else if (b[i] & 1) { x[i] = b[i]; y[i] = x[i] + 1; }
      else { y[i] = 7; x[i] = y[i] * 2; }""",
    "a target that is changed again": """if (a[i] < 0) { x[i] = 1; if (b[i] & 1) x[i] += 5; x[i] = x[i] * 3; }
      else { x[i] = 2; }""",
    "a condition on what a branch changes": """int16_t t = a[i];
      if (t < 0) { t = 5; x[i] = t; } else { x[i] = t; t = -1; }
      y[i] = t;""",
    "iterators and data": """if (i < 4) { if (a[i] < 0) x[i] = 1; else x[i] = 2; }
      else if (a[i] < 5) x[i] = i < 8 ? 3 : 4;
      else x[i] = 5;""",
    "iterators inside data": "if (a[i] < 0) { if (i < 6) x[i] = 1; else x[i] = 2; } else x[i] = 3;",
}


def program_text(body: str) -> str:
    return f"{HEAD}  for (int i = 0; i < 12; i++) {{\n      {body}\n  }}\n#pragma endscop\n}}\n"


def data() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(2)
    return {"a": generator.integers(-30, 40, 12).astype(np.int16),
            "b": generator.integers(0, 2**32, 12).astype(np.uint32),
            "x": np.full(12, -77, np.int64), "y": np.full(12, -7, np.int16)}


@pytest.mark.parametrize("case", BODIES)
def test_every_way_assigns(case):
    text = program_text(BODIES[case])
    program = parse_scop(text)
    assert not [array.name for array in program.inputs if array.name.endswith("_in")]
    for name, values in interpret(program, inputs_of(program, data())).items():
        np.testing.assert_array_equal(values, gcc_results(text, "f", data())[name], err_msg=text)


def test_a_subscript_that_a_branch_hides_is_another_element():
    body = "int t = 3; if (a[i] < 0) { { int t = 1; x[t] = 100; } y[i] = 1; } else { x[t] = 5; y[i] = 2; }"
    text = program_text(body)
    given = data() | {"a": np.arange(12, dtype=np.int16)}
    program = parse_scop(text)
    for name, values in interpret(program, inputs_of(program, given)).items():
        np.testing.assert_array_equal(values, gcc_results(text, "f", given)[name], err_msg=text)


@pytest.mark.parametrize("body", [
    "if (a[i] < 0) x[i] = 1; else if (b[i] & 1) x[i] = 2;",
    "if (a[i] < 0) { x[i] = 1; } else { x[i] += 2; }",
    "if (a[i] < 0) x[i] = 1; else { y[i] = x[i]; x[i] = 2; }",
    "if (a[i] < 0) { if (b[i] & 1) x[i] = 1; } else x[i] = 4;",
])
def test_elements_that_some_way_keeps_are_inputs(body):
    text = program_text(body)
    program = parse_scop(text)
    assert "x_in" in [array.name for array in program.inputs]
    for name, values in interpret(program, inputs_of(program, data())).items():
        np.testing.assert_array_equal(values, gcc_results(text, "f", data())[name], err_msg=text)


def test_a_chain_is_one_statement_without_its_old_value():
    program = parse_scop(program_text(BODIES["else if"]))
    (statement,) = program.statements
    assert [read.array for read in statement.reads] == ["a", "a"] or [read.array for read in statement.reads] == ["a"]


@pytest.mark.parametrize("target", MODELS)
def test_targets_take_chains(target):
    text = program_text(BODIES["two targets in three ways"].replace("x[i]", "y[i]")).replace("b[i]", "a[i]")
    program = parse_scop(text)
    inputs = inputs_of(program, data())
    for name, values in MODELS[target](program, inputs, {}).items():
        np.testing.assert_array_equal(values, gcc_results(text, "f", data())[name], err_msg=text)
