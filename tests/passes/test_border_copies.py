"""Copies with borders: the same results, reads without corners, and programs that arrays then take."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl
import numpy as np
import pytest

import compiler
from compiler.analysis.affine import affine_form
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.passes.arrays.border_copies import copy_borders

N = 9
REFLECT = f"((i) < 0 ? -(i) : (i) >= {N} ? 2 * ({N} - 1) - (i) : (i))"
CLAMP = f"((i) < 0 ? 0 : (i) >= {N} ? {N} - 1 : (i))"
WRAP = f"((i) < 0 ? (i) + {N} : (i) >= {N} ? (i) - {N} : (i))"
FOLDS = {REFLECT: "reflect", CLAMP: "edge", WRAP: "wrap"}


def smoothed(fold: str, source: str = "t") -> Program:
    return parse_scop(f"""#define R(i) {fold}
void smooth(const short a[{N}][{N}], short t[{N}][{N}], short y[{N}][{N}]) {{
#pragma scop
  for (int i = 0; i < {N}; i++)
    for (int j = 0; j < {N}; j++)
      t[i][j] = 3 * a[i][j] + 1;
  for (int i = 0; i < {N}; i++)
    for (int j = 0; j < {N}; j++)
      y[i][j] = {source}[R(i - 2)][j] + 2 * {source}[i][R(j - 1)] + 5 * {source}[R(i + 1)][R(j + 2)];
#pragma endscop
}}
""", "smooth.c")


def internal(program: Program) -> Program:
    """With t as an intermediate array."""
    arrays = tuple(replace(a, role="intermediate") if a.name == "t" else a for a in program.arrays)
    return replace(program, arrays=arrays)


@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize("source", ["t", "a"])
def test_results_are_those_of_numpy(fold: str, source: str) -> None:
    program = internal(smoothed(fold, source))
    copied = copy_borders(program)
    for statement in copied.statements:
        for read in statement.reads:
            index = isl.PwMultiAff.from_map(read.map.intersect_domain(statement.domain))
            assert all(affine_form(index.get_pw_aff(k)) for k in range(2))
    data = np.arange(N * N).reshape(N, N) % 23 - 7
    values = np.pad(3 * data + 1 if source == "t" else data, 2, mode=FOLDS[fold])
    here, below = slice(2, N + 2), slice(3, N + 3)
    wanted = values[:N, here] + 2 * values[here, 1:N + 1] + 5 * values[below, 4:]
    assert (interpret(copied, {"a": data})["y"] == wanted).all()
    assert (interpret(program, {"a": data})["y"] == wanted).all()


def test_one_window_reads_one_copy() -> None:
    """Two dimensions: the parts of each and one statement that joins them; then every read of the window is a tap."""
    copied = copy_borders(internal(smoothed(REFLECT)))
    names = [statement.name for statement in copied.statements]
    assert names == ["S0", "t_part", "t_part_", "t_part__", "t_join", "t_part___", "t_part____", "t_part_____",
                     "t_join_", "S1"]
    assert {read.array for read in copied.statement("S1").reads} == {"t_bordered_"}


@pytest.mark.parametrize("body", [
    "for (int i = 0; i < 9; i++) y[i] = a[i] + a[8 - i];",  # no corner
    "for (int i = 0; i < 9; i++) y[i] = a[i < 4 ? i : 2 * i % 3];",  # no affine parts
    "for (int i = 0; i < 9; i++) { t[i] = a[i]; y[i] = t[i < 1 ? 0 : i - 1]; }",  # t is not complete before
    "for (int i = 0; i < 9; i++) y[i] = a[i] + a[i < 3 ? i : 8 - i];",  # no function of an affine index
])
def test_others_stay(body: str) -> None:
    text = f"void f(const short a[9], short t[9], short y[9]) {{\n#pragma scop\n{body}\n#pragma endscop\n}}"
    program = parse_scop(text, "f.c")
    if "t[i] =" in body:
        program = internal(program)
    assert copy_borders(program) is program


@pytest.mark.parametrize("memory", ["pub", "dual-port"])
def test_arrays_take_a_reflected_border_at_full_rate(memory: str) -> None:
    design = compiler.compile(internal(smoothed(REFLECT)), memory=memory)
    assert design.choices["initiation interval"] == "1"
    assert design.predicted_cycles < 2 * (N + 3) * (N + 3)
