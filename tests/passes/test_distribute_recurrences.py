"""Recurrences within an iteration of an outer loop: a few steps, in loops of their own."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.verify import verify
from compiler.passes.recurrence.distribute_recurrences import distribute_recurrences


def scop(body: str, n: int = 8) -> Program:
    return parse_scop(f"void f(const int w[{n}][{n}], int d[{n}][{n}]) {{\n#pragma scop\n"
                      f"for (int i = 0; i < {n}; i++) for (int j = 0; j < {n}; j++) d[i][j] = w[i][j] & 1023;\n"
                      f"{body}\n#pragma endscop\n}}", "paths.c")


def loops(n: int, body: str) -> str:
    return "".join(f"for (int {name} = 0; {name} < {n}; {name}++) " for name in "kij") + f"{{ {body} }}"


def require_same(program: Program, other: Program) -> None:
    verify(other)
    inputs = random_inputs(program, 2)
    np.testing.assert_array_equal(interpret(other, inputs)["d"], interpret(program, inputs)["d"])


@pytest.mark.parametrize("n", [6, 8, 19, 300])
def test_shortest_paths_have_four_quadrants_around_the_pivot(n: int) -> None:
    program = scop(loops(n, "int by = d[i][k] + d[k][j]; if (by < d[i][j]) d[i][j] = by;"), n)
    found = distribute_recurrences(program)
    names = [statement.name for statement in program.statements[1:]]
    assert [s.name for s in found.statements] == ["S0", *(f"{name}_step{k}" for name in names for k in range(4))]
    sizes = [statement.domain.count_val().to_python() for statement in found.statements[1:5]]
    assert sum(sizes) == n**3 and sizes[0] == sum(k * k for k in range(1, n + 1)) and sizes[1] == sizes[2]
    if n < 10:
        require_same(program, found)


@pytest.mark.parametrize("body", [
    "d[i][j] += d[i][k] > 9 ? 1 : 2;",                            # the column alone is read: by elements behind it
    "d[i][j] = d[i][j] * 3 + d[k][j];",                           # the row alone
    "if (i < k) d[i][j] += d[k][j]; else d[i][j] -= d[i][k];",    # other conditions
    "d[i][j] ^= d[(i + k) % 8][j];",                              # what some steps have to come before is no box
])
def test_others_keep_what_they_compute(body: str) -> None:
    program = scop(loops(8, body))
    require_same(program, distribute_recurrences(program))


@pytest.mark.parametrize(("body", "n"), [
    (loops(8, "d[i][j] += w[i][k] * w[k][j];"), 8),                                # from iteration to iteration
    ("for (int t = 0; t < 3; t++) for (int i = 1; i < 9; i++) for (int j = 1; j < 9; j++) "
     "d[i][j] = (d[i - 1][j] + d[i][j - 1]) >> 1;", 9),                            # a wavefront
    ("for (int i = 0; i < 4; i++) for (int j = 1; j < 4; j++) d[i][j] += d[i][j - 1];", 4),   # as many steps as trips
    ("for (int i = 0; i < 40; i++) for (int j = 1; j < 40; j++) d[i][j] += d[i][j - 1];", 40),
])
def test_recurrences_along_a_loop_stay(body: str, n: int) -> None:
    program = scop(body, n)
    assert distribute_recurrences(program) is program


@pytest.mark.parametrize("seed", range(12))
def test_random_steps_keep_what_they_compute(seed: int) -> None:
    draw = Random(seed)
    places = ["d[i][k]", "d[k][j]", "d[k][k]", "d[i][j]", "d[j][i]", "d[i][(k + 1) % 7]", "d[(k + 2) % 7][j]"]
    terms = draw.sample(places, draw.randint(1, 3))
    text = f"int by = {' + '.join(terms)}; if (by {draw.choice('<>')} d[i][j]) d[i][j] = by;"
    program = scop(loops(7, text), 7)
    require_same(program, distribute_recurrences(program))
