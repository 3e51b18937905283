"""Memories of two sizes in one array, on both simulators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from memory_sizes import MIXED, cross, smoothed_curve

import compiler
from compiler.cli.input_files import random_inputs
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from hw.sim.simulate import StallProfile


@pytest.mark.parametrize("program", [smoothed_curve(), cross()], ids=lambda program: program.name)
def test_exact_and_on_time(program: Program, tmp_path: Path, simulator: str) -> None:
    """Rows in small memories and a table in a large one; and a stream whose last words nobody reads."""
    file = tmp_path / "array.toml"
    file.write_text(MIXED.format(kind="pub"))
    design = compiler.compile(program, hardware=str(file))
    inputs = random_inputs(program, 1)
    run = design.simulate(inputs, simulator, seed=5, stall=StallProfile.uniform(0.2))
    for name, expected in interpret(program, inputs).items():
        np.testing.assert_array_equal(run.outputs[name], expected)
    assert run.cycles == design.predicted_cycles
