"""Tiles of a matrix product that the compiler chooses, and values that borders and the inside of a picture have from
different statements, on one small array and both simulators."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import compiler
from compiler.bind.cgra.design import CgraDesign
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import load_c, parse_scop
from compiler.ir.interpret import interpret
from hw.sim.simulate import StallProfile

GEMM = Path(__file__).parents[1] / "apps" / "polybench" / "gemm.c"

SMALL = """rows = 2
columns = 8
[mem]
depth = 8
[glb]
half_words = 64
"""
"""Banks of 64 words, and memories whose tables have 8 entries."""


BORDERED = """void bordered(const short A[8][8], short B[8][8], short C[8][8])
{
#pragma scop
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++)
      B[i][j] = A[i][j];
  for (int i = 1; i < 7; i++)
    for (int j = 1; j < 7; j++)
      B[i][j] = A[i][j] + A[i][j - 1];
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++)
      C[i][j] = B[i][j] * 3;
#pragma endscop
}
"""


@cache
def _compiled(name: str, folder: Path) -> CgraDesign:
    described = folder / "array.toml"
    described.write_text(SMALL)
    sizes = {"gemm": (8, 12, 12), "ragged": (7, 13, 11)}.get(name)
    program = load_c(GEMM, **dict(zip(("NI", "NJ", "NK"), sizes, strict=True))) if sizes else parse_scop(BORDERED)
    design = compiler.compile(program, target="cgra", hardware=str(described))
    assert isinstance(design, CgraDesign)
    return design


def _as_interpreted(design: CgraDesign, simulator: str) -> None:
    inputs = random_inputs(design.program, 3)
    run = design.simulate(inputs, simulator, seed=5, stall=StallProfile.uniform(0.2))
    for array, expected in interpret(design.program, inputs).items():
        np.testing.assert_array_equal(run.outputs[array], expected)
    assert run.cycles == design.predicted_cycles


def test_tiles_of_a_product(tmp_path_factory: pytest.TempPathFactory, simulator: str) -> None:
    """The first of 12 steps differs from the others, by a table of two entries that the memory holds."""
    design = _compiled("gemm", tmp_path_factory.getbasetemp())
    assert design.schedule.staged.tiles > 4
    assert [len(table.contents) for table in design.application.controls.values()] == [2]
    _as_interpreted(design, simulator)


def test_tiles_of_sizes_that_nothing_divides(tmp_path_factory: pytest.TempPathFactory, simulator: str) -> None:
    """Two by four tiles of four by four elements, of which the last ones have three rows and one column."""
    design = _compiled("ragged", tmp_path_factory.getbasetemp())
    assert design.schedule.staged.tiles == 8
    _as_interpreted(design, simulator)


def test_borders_by_rows_and_columns(tmp_path_factory: pytest.TempPathFactory, simulator: str) -> None:
    """Rows and columns of the inside have a table each, of 8 entries for 64, and a truth table both."""
    design = _compiled("bordered", tmp_path_factory.getbasetemp())
    assert {len(table.contents) for table in design.application.controls.values()} == {8}
    _as_interpreted(design, simulator)
