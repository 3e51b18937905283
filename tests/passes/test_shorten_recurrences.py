"""Accumulators have one operation between a value and the next one, whatever the condition or conversion."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import parse_scop
from compiler.ir.expr import Apply, Read
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.passes.recurrence.shorten_recurrences import shorten_recurrences


def scop(body: str, type: str = "uint8_t") -> Program:
    return parse_scop(f"#include <stdint.h>\nvoid f(const {type} a[6][4], {type} c[4]) {{\n#pragma scop\n"
                      f"for (int j = 0; j < 4; j++) {{ c[j] = 5; for (int i = 0; i < 6; i++) {body} }}\n"
                      "#pragma endscop\n}", "sum.c")


@pytest.mark.parametrize("type", ["uint8_t", "int16_t", "uint16_t", "int32_t"])
@pytest.mark.parametrize(("body", "op"), [
    ("if (a[i][j] > 3) c[j] += a[i][j];", "add"),
    ("c[j] = a[i][j] & 1 ? c[j] + 2 : c[j] - a[i][j];", "add"),
    ("if (a[i][j] > c[j]) c[j] = a[i][j];", "max"),
    ("c[j] = c[j] < a[i][j] ? c[j] : a[i][j];", "min"),
    ("if (a[i][j] > 40) c[j] ^= a[i][j];", "xor"),
])
def test_one_operation_is_between_an_accumulator_and_its_next_value(body: str, op: str, type: str) -> None:
    program = scop(body, type)
    short = shorten_recurrences(program)
    value = short.statement("S1").value
    assert isinstance(value, Apply)
    assert value.op == op
    own = next(k for k, read in enumerate(short.statement("S1").reads) if read.array == "c")
    assert any(isinstance(arg, Read) and arg.index == own for arg in value.args)
    inputs = random_inputs(program, 7)
    np.testing.assert_array_equal(interpret(short, inputs)["c"], interpret(program, inputs)["c"])


@pytest.mark.parametrize("body", [
    "c[j] += a[i][j];",                              # is one operation already
    "c[j] -= a[i][j];",
    "c[j] = c[j] * 2 + a[i][j];",                    # needs its order
    "if (c[j] > 3) c[j] += a[i][j];",                # the condition is on the accumulator
    "c[j] = a[i][j] - c[j];",
])
def test_what_is_short_or_no_accumulator_stays(body: str) -> None:
    program = scop(body, "int16_t")
    assert shorten_recurrences(program) == program
