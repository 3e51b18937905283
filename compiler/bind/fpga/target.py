"""The fpga target: the array's static schedule, and a pipeline of its own for every program."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from compiler.analysis.dependences import flow, recurring_around
from compiler.analysis.instance_budget import require_enumerable
from compiler.attempts import attempt, note_attempt
from compiler.bind.fpga.build import build_pipeline
from compiler.bind.fpga.candidates import BuiltSystem, choose, stagings, tile_script
from compiler.bind.fpga.design import FpgaDesign
from compiler.bind.fpga.errors import FpgaError, SlowRecurrence
from compiler.bind.fpga.options import Options
from compiler.bind.fpga.validate import validate
from compiler.ir.program import Program
from compiler.ir.verify import verify
from compiler.passes.arrays.partition import Partition
from compiler.passes.arrays.passes import PartitionArrays
from compiler.passes.directives import apply_script
from compiler.passes.normalize.dead_statements import remove_dead_statements
from compiler.passes.normalize.passes import NormalizeLoops, PadDomains, StaticForm
from compiler.passes.pipeline import PassPipeline
from compiler.passes.recurrence.array_expansion import (
    BEHIND_GUARDS,
    PredicatedReads,
    has_undefined_reads,
)
from compiler.passes.recurrence.passes import ExpandArrays, ShortenRecurrences
from compiler.passes.recurrence.recurrence_interchange import recurrence_order
from compiler.passes.state import State
from compiler.sched.static.static_schedule import InitiationIntervals, schedule_program
from compiler.sched.streams.streams import StagedProgram
from compiler.sched.verify import check_parts
from hw.errors import SluiceError

__all__ = ["PLACE", "Options", "compile_program"]

PLACE = "a pipeline of its own"
"""What results call the target."""

_INTERVALS = (*range(1, 9), 12, 16, 24, 32, 48, 64)
"""Initiation intervals that are tried."""

_MOST_LOOPS = 14
"""Most loops around a statement; what is symbolic takes seconds then."""


def compile_program(program: Program, options: Options) -> FpgaDesign:
    """Compile `program`; the finished pipeline is proven from outside. With ``loops=auto`` loops around recurrences are
    in the order in which there is time for these, where that ends earlier.

    Raises `ProgramError`, `NoOutputError`, `DependenceError`, `StreamError`, `FusionError` and `FpgaError`, each naming
    what does not fit, and `ValidationError` for a fault of the compiler.
    """
    start = time.perf_counter()
    verify(program)
    require_enumerable(program, "fpga", _MOST_LOOPS, FpgaError)
    alone = replace(program, shared=())  # here every statement has operators of its own
    alone = PassPipeline((ShortenRecurrences(),)).run(State(alone)).program
    fastest = _fastest(program, alone, options)
    return replace(fastest, seconds=time.perf_counter() - start)


def _fastest(program: Program, alone: Program, options: Options) -> FpgaDesign:
    """The design with loops as they are, in another order, or in tiles."""
    if options.loops == "asked":
        return _compiled(program, alone, options)
    try:
        found = [_compiled(program, alone, options)]
    except SlowRecurrence:
        ordered = _ordered(program, alone, options, _INTERVALS[-1])
        if ordered is None:
            raise
        return ordered
    found += filter(None, [_ordered(program, alone, options, found[0].schedule.pace.interval),
                           _tiled(program, alone, options, found[0])])
    return min(found, key=lambda design: design.predicted_start_to_done)


def _tiled(program: Program, alone: Program, options: Options, asked: FpgaDesign) -> FpgaDesign | None:
    """The design in tiles in which the orders of two arrays meet, where it may end before the one `asked` for."""
    script = tile_script(alone, asked.predicted_start_to_done, asked.bounds, sorted(asked.schedule.staged.in_order))
    if not script:
        return None
    with suppress(SluiceError), attempt(f"loops in tiles: {script}"):
        return _compiled(program, apply_script(alone, script), options, script)
    return None


def _ordered(program: Program, alone: Program, options: Options, interval: int) -> FpgaDesign | None:
    """The design with loops in an order that gives recurrences more time, where they need any; None if there is none,
    or it cannot be compiled."""
    script = recurrence_order(alone, interval) if interval > 1 else ""
    if not script:
        return None
    with suppress(SluiceError), attempt(f"loops in another order: {script}"):
        return _compiled(program, apply_script(alone, script), options, script)
    return None


def _compiled(program: Program, alone: Program, options: Options, script: str = "") -> FpgaDesign:
    """The design of `program`, which is `alone` with loops in this order. `script`: what brought these there. Where
    guards leave it open what is read, the fastest one."""
    alone = PassPipeline((NormalizeLoops(),)).run(State(alone)).program
    found: list[FpgaDesign] = []
    failure: FpgaError | None = None
    for behind in BEHIND_GUARDS:
        parts = _prepared(alone, behind, options)
        if failure is not None and _needs_boxes(parts.program):
            break  # reads cannot be everywhere: why the first way fails is what counts
        try:
            found.append(_built_from(program, parts, options, script))
        except FpgaError as error:
            failure = failure or error
        if parts.elements is None or not has_undefined_reads(parts.elements):
            break
    if failure is not None and not found:
        raise failure
    return min(found, key=lambda design: design.predicted_start_to_done)


def _needs_boxes(program: Program) -> bool:
    """Whether there are statements that no static schedule takes."""
    return any(statement.box() is None for statement in program.statements)


def _prepared(alone: Program, behind: PredicatedReads, options: Options) -> Partition:
    """The program as it is built: on whole boxes, sums drained, arrays in parts."""
    passes = [PadDomains(behind.everywhere), StaticForm()]
    expansion = [ExpandArrays(everywhere=True)] if behind.computed else []
    pipeline = PassPipeline.parse(options.passes) if options.passes else PassPipeline((*passes, *expansion))
    return PassPipeline((PartitionArrays(),)).run(pipeline.run(State(alone))).layout()


def _built_from(program: Program, parts: Partition, options: Options, script: str) -> FpgaDesign:
    start = time.perf_counter()
    live = remove_dead_statements(parts.program)
    chosen = _built(live, options)
    check_parts(parts)
    note_attempt("validation")
    validate(parts.program, chosen.built, chosen.system)
    return FpgaDesign(program, parts, options, chosen.built, chosen.system, time.perf_counter() - start, script)


def _built(program: Program, options: Options) -> BuiltSystem:
    """The pipeline at the smallest initiation interval that recurrences allow, with arrays moved in the way that ends
    first. Only the loops of recurrences that need it have the interval."""
    candidates = stagings(program, options)
    failure: SlowRecurrence | None = None
    slow: frozenset[str] = frozenset()
    for interval in _INTERVALS:
        while True:
            pace = InitiationIntervals(interval, slow or None)
            try:
                return _built_at(pace, candidates, program, options)
            except SlowRecurrence as error:
                failure = error
            known, slow = slow, slow | recurring_around(flow(program), [failure.name])
            if interval == 1 or slow == known:
                break
    assert failure is not None
    raise failure


def _built_at(pace: InitiationIntervals, candidates: Sequence[StagedProgram], program: Program,
              options: Options) -> BuiltSystem:
    """The pipeline at these initiation intervals that ends first. Raises `SlowRecurrence` if none is long enough."""
    with attempt(f"initiation interval {pace}") as tried:
        schedules = [schedule_program(staged, options.fusion_level, pace=pace) for staged in candidates]
        found = choose(schedules, program, options, lambda schedule: build_pipeline(schedule, options))
        tried.outcome = f"{found.cycles} cycles"
    return found
