"""Compiling a program and comparing it with numpy on the reference machine."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from compiler.bind.vector.design import VectorDesign
from compiler.bind.vector.target import Options, compile_arrays
from compiler.bind.vector.text import parse_program, print_program
from compiler.frontend import parallel_array as pa

__all__ = ["check", "compile_and_check"]


def check(design: VectorDesign, inputs: Mapping[str, np.ndarray]) -> None:
    """The machine's results are numpy's, and the program survives its text form."""
    found = design.execute(inputs)
    for name, wanted in design.program.reference(inputs).items():
        assert found[name].dtype == wanted.dtype and found[name].shape == wanted.shape
        assert (found[name] == wanted).all(), name
    assert parse_program(print_program(design.code)) == design.code


def compile_and_check(program: pa.ArrayProgram, inputs: Mapping[str, np.ndarray], **options) -> VectorDesign:
    """Compile, check, and give the design: the first plans that fit, whose results are those of the fastest, in a
    hundredth of the time."""
    design = compile_arrays(program, Options(**{"search": False} | options))
    check(design, inputs)
    return design
