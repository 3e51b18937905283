"""A matrix product that does not fit the global buffer: tiles that the compiler chooses, on both simulators."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

import compiler
from compiler.bind.cgra.design import CgraDesign
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import load_c
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


@cache
def _compiled(folder: Path) -> CgraDesign:
    described = folder / "array.toml"
    described.write_text(SMALL)
    design = compiler.compile(load_c(GEMM, NI=8, NJ=12, NK=12), target="cgra", hardware=str(described))
    assert isinstance(design, CgraDesign)
    return design


def test_results_are_those_of_the_interpreter(tmp_path_factory, simulator: str) -> None:
    """The first of 12 steps differs from the others, by a table of two entries that the memory holds."""
    design = _compiled(tmp_path_factory.getbasetemp())
    assert design.schedule.staged.tiles > 4
    assert [len(table.contents) for table in design.application.controls.values()] == [2]
    inputs = random_inputs(design.program, 3)
    run = design.simulate(inputs, simulator, seed=5, stall=StallProfile.uniform(0.2))
    for array, expected in interpret(design.program, inputs).items():
        np.testing.assert_array_equal(run.outputs[array], expected)
    assert run.cycles == design.predicted_cycles
