"""The dataflow target: a program as a process network, the network as a streaming kernel with its manager."""

from __future__ import annotations

import time

from compiler.bind.dataflow.design import DataflowDesign
from compiler.bind.dataflow.options import Options
from compiler.bind.dataflow.plan import make_plan
from compiler.bind.dataflow.runtime_sizes import compile_sizes
from compiler.ir.program import Program
from compiler.ir.verify import verify
from compiler.passes.directives import apply_script

__all__ = ["FLOATING", "MEMORIES", "PLACE", "Options", "compile_program", "compile_sizes"]

PLACE = "the dataflow engine"
"""What results call the target."""

MEMORIES = True
"""Accesses at places that depend on data are taken."""

FLOATING = True
"""It has operators for floating-point numbers."""


def compile_program(program: Program, options: Options) -> DataflowDesign:
    """Compile `program`. Raises `ProgramError`, `DependenceError`, `NetworkError`, `TransformError`,
    `DataflowError`."""
    start = time.perf_counter()
    verify(program)
    changed = apply_script(program, options.transform)
    if changed.memories:
        verify(changed)
    plan = make_plan(changed, options)
    return DataflowDesign(program, options, plan, time.perf_counter() - start)
