"""The systolic target: a loop nest as an array of processing elements with its I/O network."""

from __future__ import annotations

import time

from compiler.attempts import note_attempt
from compiler.bind.design import Design
from compiler.bind.systolic.choose import choose
from compiler.bind.systolic.design import SystolicDesign
from compiler.bind.systolic.errors import KernelError, MappingError
from compiler.bind.systolic.kernel import recognise
from compiler.bind.systolic.options import Options
from compiler.bind.systolic.recurrence import Settings, compile_recurrence
from compiler.bind.systolic.stated_order import stated_program
from compiler.bind.systolic.validate import validate_plan
from compiler.ir.program import Program
from compiler.ir.verify import verify
from compiler.sched.space_time import LargeIterationError, SpaceTimeError
from hw.errors import SluiceError

__all__ = ["FLOATING", "ONE_KERNEL", "PLACE", "Options", "compile_program"]

PLACE = "the systolic array"
"""What results call the target."""

FLOATING = True
"""Its processing elements have operators for floating-point numbers."""

ONE_KERNEL = True
"""Of several layers, each is a design of its own."""


def compile_program(program: Program, options: Options) -> Design:
    """Compile `program`: as a reduction kernel, in tiles, or else as a recurrence, on an array of its own size. Raises
    `ProgramError`, `DependenceError`, `SpaceTimeError`, `MappingError`, `SystolicError`."""
    start = time.perf_counter()
    verify(program)
    note_attempt("as a reduction kernel")
    try:
        kernel = recognise(program, reassociate=options.reassociate)
    except (KernelError, SpaceTimeError) as problem:
        return _recurrence(program, options, problem)
    plan = choose(kernel, options)
    if options.check:
        note_attempt("validation")
        validate_plan(plan)
    return SystolicDesign(program, options, plan, time.perf_counter() - start, stated_program(plan))


_OF_KERNELS = ("array", "time", "order", "simd", "pack", "technology")
"""Options that recurrences do not have."""


def _recurrence(program: Program, options: Options, problem: SluiceError) -> Design:
    given = [name for name in _OF_KERNELS if getattr(options, name) is not None]
    if given:
        raise MappingError(f"option {given[0]} is for reduction kernels, and program '{program.name}' is none: "
                           f"{problem}")
    note_attempt("as a recurrence")
    try:
        return compile_recurrence(program, options.space, Settings(floats=options.latency), options.main_memory())
    except SpaceTimeError as error:
        if isinstance(problem, SpaceTimeError) and not isinstance(problem, LargeIterationError):
            raise
        raise SpaceTimeError(f"{error}; and it is no reduction kernel: {problem}") from None
