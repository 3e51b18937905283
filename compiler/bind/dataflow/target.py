"""The dataflow target: a program as a process network, the network as a streaming kernel with its manager."""

from __future__ import annotations

import time
from dataclasses import replace

from compiler.attempts import attempt
from compiler.bind.dataflow.design import DataflowDesign
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.dataflow.options import Options
from compiler.bind.dataflow.plan import Plan, make_plan
from compiler.bind.dataflow.runtime_sizes import compile_sizes
from compiler.ir.program import Program
from compiler.ir.verify import verify
from compiler.passes.directives import apply_script
from compiler.passes.recurrence.recurrence_interchange import recurrence_order

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
    _check_elements(program, options.bus_bits)
    changed = apply_script(program, options.transform)
    if changed.memories:
        verify(changed)
    plan = make_plan(changed, options)
    if options.reassociate:
        changed, plan = _in_partial_sums(changed, options, plan)
    if options.exits == "early":
        plan = plan.with_exit()
    stated = changed if "reassociate(" in f"{options.transform} {plan.choices.get('sums')}" else None
    return DataflowDesign(program, options, plan, time.perf_counter() - start, stated=stated)


def _check_elements(program: Program, bus_bits: int) -> None:
    """Raise `DataflowError` for elements that are wider than the memory port."""
    for array in (*program.inputs, *program.outputs):
        if array.type.width > bus_bits:
            raise DataflowError(f"array '{array.name}' has elements of {array.type.width} bits, which no port of "
                                f"bus_bits={bus_bits} moves at once: take 64")


def _in_partial_sums(program: Program, options: Options, plan: Plan) -> tuple[Program, Plan]:
    """`program` with sums in parts, and its plan, where this takes fewer ticks than `plan`, else both as they are."""
    latency = max((pipeline.latency for pipeline in plan.pipelines.values()), default=1)
    script = recurrence_order(program, latency, "reassociate")
    if "reassociate(" not in script:
        return program, plan
    other = apply_script(program, script)
    with attempt(f"partial sums: {script}") as tried:
        found = make_plan(other, options)
        tried.outcome = f"{found.total_ticks(())} ticks"
    if found.total_ticks(()) >= plan.total_ticks(()):
        return program, plan
    return other, replace(found, choices=found.choices | {"sums": script})
