"""Reads of several statements' values as reads of each, selected by conditions on iterators."""

import numpy as np

from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.verify import verify
from compiler.passes.normalize.source_selection import select_sources

SYMMETRIC = """void f(const short a[6][6], short y[6][6], short t[6][6]) {
#pragma scop
  for (int i = 0; i < 6; i++) {
    t[i][i] = 1;
    for (int j = i + 1; j < 6; j++) {
      t[i][j] = a[i][j] * 3;
      t[j][i] = a[j][i] + 5;
    }
  }
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++)
      y[i][j] = t[i][j] - a[j][i];
#pragma endscop
}
"""


def require_same(before: Program, after: Program) -> None:
    verify(after, guarded=True)
    inputs = random_inputs(before, 3)
    for name, values in interpret(before, inputs).items():
        np.testing.assert_array_equal(interpret(after, inputs)[name], values)


def test_halves_of_a_matrix_are_selected() -> None:
    """A read for each half; the diagonal is a constant, which takes none."""
    program = parse_scop(SYMMETRIC)
    after = select_sources(program)
    require_same(program, after)
    (reader,) = [s for s in after.statements if s.write.array == "y"]
    assert [read.array for read in reader.reads].count("t") == 2
    assert str(reader.value).count("select") == 2


def test_boxes_are_left_to_counters() -> None:
    program = parse_scop("""void f(const short a[6], short y[6]) {
#pragma scop
  short t[6];
  for (int i = 0; i < 3; i++)
    t[i] = a[i] * 3;
  for (int i = 3; i < 6; i++)
    t[i] = a[i] + 5;
  for (int i = 0; i < 6; i++)
    y[i] = t[i] - a[5 - i];
#pragma endscop
}
""")
    assert select_sources(program) is program


def test_recurrences_are_left() -> None:
    """A select would make them longer."""
    program = parse_scop("""void f(short y[6][6]) {
#pragma scop
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++)
      y[i][j] = y[j][i] + 1;
#pragma endscop
}
""")
    assert select_sources(program) is program
