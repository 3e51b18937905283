"""Compiling for the coarse-grained array: a search over candidates, and what its refusals recommend."""

from __future__ import annotations

from dataclasses import replace

from compiler.bind.cgra.budget import Budget
from compiler.bind.cgra.candidate import Candidate
from compiler.bind.cgra.design import CgraDesign
from compiler.bind.cgra.filled_tables import refusal as memory_refusal
from compiler.bind.cgra.options import Options
from compiler.bind.cgra.remedies import REMEDIED, with_remedy
from compiler.bind.cgra.search_space import ArraySpace
from compiler.bind.cgra.stages import Stages
from compiler.ir.program import Program
from compiler.ir.types import BFLOAT16, Float
from compiler.sched.search.driver import search
from compiler.sched.search.space import Infeasible
from compiler.sched.static.schedule import Schedule

__all__ = ["OPTIONAL_FLOATS", "PLACE", "Options", "compile_program", "memory_refusal", "schedule_of", "taken_floats"]

PLACE = "the array"
"""What results call the target."""


OPTIONAL_FLOATS = {BFLOAT16: "bfloat16 also here, with the option bfloat16 (bfloat16=True, --option bfloat16=true)"}
"""Floating-point numbers that an option adds, with what messages say of it."""


def taken_floats(options: Options) -> tuple[Float, ...]:
    """The floating-point numbers that the processing elements have."""
    return (BFLOAT16,) if options.described().bfloat16 else ()


def compile_program(program: Program, options: Options) -> CgraDesign:
    """Compile `program`; the finished mapping is validated from outside. What was chosen, and why, is in
    `CgraDesign.choices`; `compiler.bind.cgra.search_space` says what is tried.

    Raises the first reason why nothing is possible, with a remedy where there is one.
    """
    options = options.described()
    found = _searched(program, options, Budget.of_array(options.fabric()))
    if not isinstance(found, Infeasible):
        return found
    if not found.because(*REMEDIED):
        raise found.cause
    raise with_remedy(found.cause, options, lambda other, budget: _searched(program, other, budget))


def _searched(program: Program, options: Options, budget: Budget) -> CgraDesign | Infeasible:
    """The best design that the search finds; for buffets it looks for one with dual-port memories, each with one
    buffer."""
    elastic = options.memory == "buffet"
    stages = Stages(program, replace(options, memory="dual-port") if elastic else options, budget, merged=not elastic)
    return search(ArraySpace(stages, budget.strict).strategy, lambda design: design.predicted_start_to_done, budget)


def schedule_of(program: Program, options: Options) -> Schedule:
    """The schedule alone, without a mapping: the tightest, which is what is tried first. For programs whose full size
    is only planned."""
    stages = Stages(program, options, Budget.of_array(options.fabric()), merged=True)
    return stages.schedule(Candidate(stages.coalesced is not program, directives=options.transform))
