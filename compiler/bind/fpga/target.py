"""The fpga target: the array's static schedule, and a pipeline of its own for every program."""

from __future__ import annotations

import time
from dataclasses import replace

from compiler.bind.fpga.design import FpgaDesign
from compiler.bind.fpga.options import Options
from compiler.bind.fpga.search_space import PipelineSpace, Stages
from compiler.ir.program import Program
from compiler.ir.verify import verify
from compiler.sched.search.driver import search
from compiler.sched.search.space import Infeasible

__all__ = ["FLOATING", "MEMORIES", "PLACE", "Options", "compile_program"]

PLACE = "a pipeline of its own"
"""What results call the target."""

MEMORIES = True
"""Accesses at places that depend on data are taken."""

FLOATING = True
"""It has operators for floating-point numbers."""


def compile_program(program: Program, options: Options) -> FpgaDesign:
    """Compile `program`; the finished pipeline is proven from outside, and where it is not another one is taken. With
    ``loops=auto`` loops around recurrences are in the order in which there is time for these, where that ends earlier.

    Raises `ProgramError`, `NoOutputError`, `DependenceError`, `StreamError`, `FusionError` and `FpgaError`, each naming
    what does not fit, and `ValidationError` for a fault of the compiler.
    """
    start = time.perf_counter()
    verify(program)
    stages = Stages(program, options)
    found = search(PipelineSpace(stages).strategy, lambda system: system.cycles, prove=stages.proven, told=str)
    if isinstance(found, Infeasible):
        raise found.cause
    return replace(found, seconds=time.perf_counter() - start)
