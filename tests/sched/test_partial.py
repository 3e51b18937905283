"""Sums as several partial ones: the same results, steps further apart, and what is no such sum."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.analysis.dependences import flow
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.passes.directives import TransformError, apply_script, partial


def scop(body: str, arguments: str = "const short a[24], const short b[24], short c[4]") -> Program:
    return parse_scop(f"void f({arguments}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}", "sum.c")


INNER = "c[0] = 7; for (int i = 0; i < 24; i++) c[0] += a[i] * b[i];"
CASES = {
    "inner product": (INNER, "S1", "i"),
    "loops around and inside": (
        "for (int j = 0; j < 4; j++) c[j] = 1; "
        "for (int o = 0; o < 2; o++) for (int i = 2; i < 14; i++) for (int j = 0; j < 4; j++) "
        "c[j] += a[i + j] * b[o + j];", "S1", "i"),
    "a condition on what is added": ("c[0] = 0; for (int i = 0; i < 24; i++) if (a[i] > b[i]) c[0] += a[i] * b[i];",
                                     "S1", "i"),
    "differences": ("c[0] = 3; for (int i = 0; i < 24; i++) c[0] -= a[i];", "S1", "i"),
    "a maximum": ("c[0] = -9; for (int i = 0; i < 24; i++) if (a[i] > c[0]) c[0] = a[i];", "S1", "i"),
    "a loop shared": ("c[0] = 0; c[1] = 0; for (int i = 0; i < 12; i++) { c[0] += a[i]; c[1] += b[2 * i]; }",
                      "S3", "i"),
}


@pytest.mark.parametrize("count", [2, 3, 5, 6])
@pytest.mark.parametrize("case", CASES)
def test_the_result_is_the_same(case: str, count: int) -> None:
    body, statement, iterator = CASES[case]
    program = scop(body)
    parts = apply_script(program, f"partial({statement}, {iterator}, {count})")
    assert len(parts.statements) == len(program.statements) + 2
    inputs = random_inputs(program, 3)
    np.testing.assert_array_equal(interpret(parts, inputs)["c"], interpret(program, inputs)["c"])


def test_a_step_waits_for_one_that_is_so_many_before() -> None:
    parts = partial(scop(INNER), "S1", "i", 8)
    (own,) = [d for d in flow(parts) if d.source == d.sink == "S1_parts"]
    assert str(own.relation.coalesce()) == (
        "{ S1_parts[i, i_part] -> S1_parts[i' = -1 + i, i_part' = i_part] : 0 < i <= 2 and 0 <= i_part <= 7 }")
    assert {s.name: s.iterators for s in parts.statements if s.name.startswith("S1")} == {
        "S1_start": ("i_part",), "S1_parts": ("i", "i_part"), "S1": ()}


@pytest.mark.parametrize(("body", "statement", "count", "message"), [
    (INNER, "S1", 24, "24 partial sums of the 24 iterations of 'i'; there are 2 or more, and fewer than iterations"),
    (INNER, "S1", 1, "1 partial sums of the 24 iterations of 'i'; there are 2 or more, and fewer than iterations"),
    ("for (int i = 0; i < 24; i++) c[0] = a[i] - b[i];", "S0", 2, "does not add to its own result"),
    ("c[0] = 0; for (int i = 0; i < 24; i++) c[0] = c[0] * a[i];", "S1", 2, "does not add to its own result"),
    ("c[0] = 0; c[1] = 0; for (int i = 0; i < 24; i++) c[0] += c[1] + a[i];", "S2", 2,
     "uses its own result in another"),
    ("for (int i = 0; i < 24; i++) c[i] = 0; for (int i = 0; i < 24; i++) c[i] += a[i];", "S1", 2,
     "writes another element in every iteration of 'i'"),
])
def test_what_is_no_such_sum(body: str, statement: str, count: int, message: str) -> None:
    program = scop(body, "const short a[24], const short b[24], short c[24]")
    with pytest.raises(TransformError) as error:
        partial(program, statement, "i", count)
    assert message in str(error.value)
    assert str(error.value).startswith(f"statement '{statement}' (sum.c:3)")


def test_an_iterator_that_there_is_not() -> None:
    with pytest.raises(TransformError, match=r"statement 'S1' .* has no iterator 'k'; it has: i"):
        partial(scop(INNER), "S1", "k", 2)
