"""The systolic target: a loop nest as an array of processing elements with its I/O network."""

from __future__ import annotations

import time

from compiler.bind.design import Design
from compiler.bind.systolic.choose import choose
from compiler.bind.systolic.design import SystolicDesign
from compiler.bind.systolic.kernel import recognise
from compiler.bind.systolic.options import Options
from compiler.bind.systolic.validate import validate_plan
from compiler.ir.program import Program
from compiler.ir.verify import verify

__all__ = ["PLACE", "Options", "compile_program"]

PLACE = "the systolic array"
"""What results call the target."""


def compile_program(program: Program, options: Options) -> Design:
    """Compile `program`. Raises `ProgramError`, `DependenceError`, `SpaceTimeError`, `KernelError`, `MappingError`,
    `SystolicError`."""
    start = time.perf_counter()
    verify(program)
    plan = choose(recognise(program), options)
    if options.check:
        validate_plan(plan)
    return SystolicDesign(program, options, plan, time.perf_counter() - start)
