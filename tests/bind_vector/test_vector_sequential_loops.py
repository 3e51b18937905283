"""Loops that carry values from turn to turn, as loops of the vector program: triangular systems, recurrences, paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import compiler
from compiler.analysis.points import count_points
from compiler.bind.vector import loop_forms, target
from compiler.bind.vector.cost import Timeline
from compiler.bind.vector.design import VectorDesign
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.ir import (
    Instruction,
    Loop,
    Setting,
    Statement,
    Transfer,
    has_stepping_counts,
    sampled,
    unrolled,
)
from compiler.bind.vector.loop_reroll import LoopGroup, is_progression, loop_of
from compiler.bind.vector.sequential_loops import unrolled_form
from compiler.bind.vector.text import parse_program, print_program
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import load_c, parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from hw.vector_lanes.isa import Mode, Op

KERNELS = Path(__file__).resolve().parents[2] / "apps" / "polybench"

FORWARD = """void forward(const short L[70][70], const short b[70], short x[70]) {
#pragma scop
  for (int i = 0; i < 70; i++) {
    x[i] = b[i];
    for (int j = 0; j < i; j++) x[i] -= L[i][j] * x[j];
  }
#pragma endscop
}"""

CASES = {
    "filter": """void f(const short x[260], short z[260]) {
#pragma scop
  for (int i = 2; i < 260; i++) z[i] = z[i - 1] * 3 - z[i - 2] + x[i];
#pragma endscop
}""",
    "both ways": """void f(const short x[140], short y[140], short z[140]) {
#pragma scop
  for (int i = 1; i < 140; i++) { y[i] = z[i - 1] / 2 + x[i]; z[i] = y[i] - y[i - 1] * i; }
#pragma endscop
}""",
    "time": """void f(const short x[20], short z[20]) {
  short y[20];
#pragma scop
  for (int i = 0; i < 20; i++) z[i] = x[i];
  for (int t = 0; t < 150; t++) {
    for (int i = 1; i < 19; i++) y[i] = z[i - 1] + 2 * z[i] + z[i + 1];
    for (int i = 1; i < 19; i++) z[i] = y[i] / 4;
  }
#pragma endscop
}""",
    "both ends": """void f(const short x[131], short z[131]) {
#pragma scop
  for (int i = 0; i < 131; i++) z[i] = x[i];
  for (int i = 1; i < 131; i++) { z[130 - i] += z[i] * 3; z[i] = z[i - 1] ^ z[130 - i]; }
#pragma endscop
}""",
    "columns": """void f(const short L[70][70], const short b[70], short x[70]) {
#pragma scop
  for (int i = 0; i < 70; i++) x[i] = b[i];
  for (int j = 0; j < 70; j++) for (int i = j + 1; i < 70; i++) x[i] -= L[i][j] * x[j];
#pragma endscop
}""",
}

OWN_ROWS = {
    "paths": """void f(short d[21][21]) {
#pragma scop
  for (int k = 0; k < 21; k++) for (int i = 0; i < 21; i++) for (int j = 0; j < 21; j++)
    d[i][j] = d[i][j] < d[i][k] + d[k][j] ? d[i][j] : d[i][k] + d[k][j];
#pragma endscop
}""",
    "counts of paths": """void f(short c[21][27], const short d[27]) {
#pragma scop
  for (int k = 0; k < 21; k++) for (int i = 0; i < 21; i++) for (int j = 0; j < 27; j++)
    c[i][j] += c[i][k] * c[k][j] + d[j];
#pragma endscop
}""",
}
"""Turns that read rows, columns or elements of what they change: some instances before that, some behind."""


def compare(program: Program, **options: int) -> VectorDesign:
    """Compile to loops, execute, and compare with the interpreter."""
    design = compiler.compile(program, target="vector", **options)
    assert isinstance(design, VectorDesign) and any(isinstance(s, Loop) for s in design.code.body)
    for seed in (1, 2):
        inputs = random_inputs(program, seed)
        found = design.execute(inputs)
        for name, wanted in interpret(program, inputs).items():
            np.testing.assert_array_equal(found[name], wanted)
    return design


@pytest.mark.parametrize("name", CASES)
def test_recurrences_of_many_turns(name: str) -> None:
    design = compare(parse_scop(CASES[name]), lanes=1, scratchpad=2048)
    assert len(design.c_code.splitlines()) < 700


@pytest.mark.parametrize("options", [{"lanes": 1, "scratchpad": 1024}, {"lanes": 4}], ids=["memory", "chip"])
@pytest.mark.parametrize("name", OWN_ROWS)
def test_instances_before_and_behind_what_turns_change_are_computed_at_once(name: str, options: dict[str, int]) -> None:
    """A loop over turns, and in them perhaps one over tiles, but none over elements of rows."""
    program = parse_scop(OWN_ROWS[name])
    design = compare(program, **options)
    assert _depth(design.code.body) <= 2
    instances = sum(count_points(statement.domain) for statement in program.statements)
    assert design.predicted_cycles < 25 * instances


@pytest.mark.parametrize("kernel", ["doitgen", "seidel_2d"])
def test_instances_are_computed_one_by_one_where_that_is_faster(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of a few elements, of which one or two come before others."""
    program = load_c(KERNELS / f"{kernel}.c")
    design = compare(program)
    monkeypatch.setattr(loop_forms, "MORE_PIECES", 0)  # nothing is compiled without parts
    assert design.predicted_cycles < compiler.compile(program, target="vector").predicted_cycles


def test_loops_that_are_unrolled_as_well_have_few_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """More pieces than the unrolled form has statements are not made, unless there is no unrolled form."""
    program = load_c(KERNELS / "fdtd_2d.c")
    in_loops = compiler.compile(program, target="vector")
    size = unrolled_form(program)
    assert size is not None
    monkeypatch.setattr(target, "PIECES", 0)
    monkeypatch.setattr(target, "unrolled_form", lambda _: replace(size, rows=2, operations=20))
    assert compiler.compile(program, target="vector").predicted_cycles > in_loops.predicted_cycles

    def refused(*_: object) -> VectorDesign:
        raise VectorTargetError("there is no unrolled form")

    monkeypatch.setattr(target, "compile_arrays", refused)
    assert compiler.compile(program, target="vector").code == in_loops.code


def _depth(body: Sequence[Statement]) -> int:
    """Loops inside each other."""
    return max((1 + _depth(s.body) if isinstance(s, Loop) else 0 for s in body), default=0)


def test_a_triangular_system_in_blocks() -> None:
    """Eight blocks of eight rows, and six rows: left of the diagonal there is a loop of more squares for each block."""
    design = compare(parse_scop(FORWARD), lanes=1, scratchpad=1024)
    assert has_stepping_counts(design.code.body, 0)
    assert parse_program(print_program(design.code)) == design.code
    plain = list(unrolled(design.code.body))
    for kind in (Instruction, Setting, Transfer):
        assert sum(times for s, times in sampled(design.code.body) if isinstance(s, kind)) == \
            sum(isinstance(s, kind) for s in plain)
    timeline = Timeline(design.spec)
    timeline.feed(plain)
    assert abs(design.predicted_cycles - timeline.now) < 0.1 * timeline.now


def test_code_and_its_time_do_not_grow() -> None:
    small, large = (compiler.compile(load_c(KERNELS / "trisolv.c", N=n), target="vector") for n in (1024, 4096))
    assert len(large.c_code.splitlines()) < 1.25 * len(small.c_code.splitlines()) < 2500
    assert large.predicted_cycles < 16 * small.predicted_cycles


def test_counts_of_loops_step() -> None:
    """A loop of one more turn each time, and one that is no progression."""
    body = (Instruction(Mode(Op.VADD, False, 2, 2), 0, 4, 8),)
    few, more, most = (LoopGroup((Setting("length", (n,)), Loop(n, body))) for n in (2, 3, 6))
    assert is_progression(few, more, most, 4) and not is_progression(few, more, most, 5)
    loop = loop_of([few], [more], 5)
    assert sum(isinstance(s, Instruction) for s in unrolled((loop,))) == 2 + 3 + 4 + 5 + 6


def test_turns_that_differ_are_refused() -> None:
    text = ("void f(short z[200]) {\n#pragma scop\nfor (int i = 1; i < 200; i++) z[i] = z[i / 2] * 3 + 1;\n"
            "#pragma endscop\n}")
    with pytest.raises(VectorTargetError) as caught:
        compiler.compile(parse_scop(text), target="vector")
    assert "a loop of 199 iterations has a loop-carried dependence" in str(caught.value)


