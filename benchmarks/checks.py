"""Whether a simulation is one whose figures count."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from compiler.bind.design import Design, Run
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from hw.errors import SluiceError

__all__ = ["FigureError", "check_run"]


class FigureError(SluiceError):
    """A measurement whose result is wrong: its figures mean nothing."""


def check_run(name: str, design: Design, run: Run, program: Program, inputs: Mapping[str, np.ndarray]) -> None:
    """Raise `FigureError`, beginning with `name`, unless the outputs of `run` are those of the reference, and its
    cycles those that `design` has predicted."""
    for output, expected in interpret(program, inputs).items():
        if not np.array_equal(run.outputs[output], expected):
            raise FigureError(f"{name}: output {output} differs from the reference")
    predicted = design.cycles_for(inputs)
    if run.cycles != predicted:
        raise FigureError(f"{name}: {run.cycles} cycles, {predicted} were predicted")
