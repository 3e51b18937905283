"""Choices by a comparison of what is chosen from are one operation, where the comparison is a statement, too."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import parse_scop
from compiler.ir.expr import Apply, postorder
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.passes.recurrence.fold_extremes import fold_extremes


def scop(body: str) -> Program:
    return parse_scop("void f(const short a[8], const short b[8], short best[1], short where[1], short last[1]) {\n"
                      "#pragma scop\nbest[0] = 7; where[0] = 0; last[0] = 3;\n"
                      f"for (int i = 0; i < 8; i++) {{ {body} }}\n#pragma endscop\n}}", "best.c")


def extremes(program: Program) -> list[str]:
    return [node.op for statement in program.statements for node in postorder(statement.value)
            if isinstance(node, Apply) and node.op in ("min", "max")]


def require_same(program: Program, folded: Program) -> None:
    for seed in range(3):
        inputs = random_inputs(program, seed)
        found = interpret(folded, inputs)
        for name, values in interpret(program, inputs).items():
            np.testing.assert_array_equal(found[name], values)


@pytest.mark.parametrize(("body", "op"), [
    ("if (a[i] > best[0]) { best[0] = a[i]; where[0] = i; }", "max"),
    ("if (best[0] <= a[i]) { best[0] = a[i]; where[0] = i; }", "max"),
    ("if (a[i] < best[0]) { best[0] = a[i]; where[0] = i; }", "min"),
    ("if ((short)(a[i] + b[i]) >= best[0]) { best[0] = (short)(a[i] + b[i]); where[0] = i; }", "max"),
    ("if (a[i] > b[i]) { where[0] = i; last[0] = last[0]; } else { where[0] = b[i]; }"
     "if (a[i] < best[0]) { best[0] = a[i]; last[0] = i; }", "min"),
])
def test_a_choice_by_a_statement_of_its_own_is_one_operation(body: str, op: str) -> None:
    program = scop(body)
    folded = fold_extremes(program)
    assert not extremes(program) and extremes(folded) == [op]
    chosen = next(s for s in folded.statements if isinstance(s.value, Apply) and s.value.op == op)
    assert len(chosen.reads) == len(program.statement(chosen.name).reads) - 1
    require_same(program, folded)


@pytest.mark.parametrize("body", [
    "if (a[i] > best[0]) { best[0] = b[i]; where[0] = i; }",                             # another value
    "if (a[i] > best[0]) { where[0] = i; best[0] = best[0] + 1; best[0] = a[i]; }",      # changed in between
    "if (a[i] > last[0]) { best[0] = a[i]; where[0] = i; }",                             # compared with another one
    "if (a[7 - i] > best[0]) { best[0] = a[i]; where[0] = i; }",                         # another element
    "if (a[i] + b[i] >= best[0]) { best[0] = a[i] + b[i]; where[0] = i; }",              # compared before it wraps
    "if (a[i] == best[0]) { best[0] = a[i]; where[0] = i; }",                            # not an order
    "if ((unsigned short)a[i] > (unsigned short)best[0]) { best[0] = a[i]; where[0] = i; }",  # in another order
])
def test_what_is_no_extreme_stays(body: str) -> None:
    program = scop(body)
    assert extremes(fold_extremes(program)) == extremes(program)
    require_same(program, fold_extremes(program))
