"""The fpga target: the array's static schedule, and a pipeline of its own for every program."""

from __future__ import annotations

import time
from dataclasses import replace

from compiler.bind.fpga.build import BuiltPipeline, build_pipeline
from compiler.bind.fpga.design import FpgaDesign
from compiler.bind.fpga.errors import SlowRecurrence
from compiler.bind.fpga.memory import stream_of
from compiler.bind.fpga.options import Options
from compiler.bind.fpga.validate import validate
from compiler.ir.program import Program
from compiler.ir.verify import verify
from compiler.sched.accumulators import static_form
from compiler.sched.cycle_accurate import Schedule, schedule_program
from compiler.sched.liveness import remove_dead_statements
from compiler.sched.partition import partition
from compiler.sched.streams import StreamError, stage_streams
from compiler.sched.verify import check_parts
from hw.pipeline.system import SystemSpec

__all__ = ["PLACE", "Options", "compile_program"]

PLACE = "a pipeline of its own"
"""What results call the target."""

_INTERVALS = (*range(1, 9), 12, 16, 24, 32, 48, 64)
"""Initiation intervals that are tried."""

_SLOWER = 1.1
"""Tile loops may make a program this many times slower, if that saves storage."""


def compile_program(program: Program, options: Options) -> FpgaDesign:
    """Compile `program`; the finished pipeline is proven from outside.

    Raises `ProgramError`, `NoOutputError`, `DependenceError`, `StreamError`, `FusionError` and `FpgaError`, each naming
    what does not fit, and `ValidationError` for a fault of the compiler.
    """
    start = time.perf_counter()
    verify(program)
    alone = replace(program, shared=())  # here every statement has operators of its own
    parts = partition(static_form(alone))
    live = remove_dead_statements(parts.program)
    built = _built(live, options)
    staged, spec = built.schedule.staged, built.spec
    place = {f.array: stream_of(staged, f, live.array(f.array)) for f in (*staged.inputs, *staged.outputs)}
    system = SystemSpec(spec, tuple(place[c.name] for c in spec.inputs), tuple(place[c.name] for c in spec.outputs),
                        options.bus_bits)
    check_parts(parts)
    validate(parts.program, built, system)
    return FpgaDesign(parts.original, parts, options, built, system, time.perf_counter() - start)


def _built(program: Program, options: Options) -> BuiltPipeline:
    """The pipeline at the smallest initiation interval that recurrences allow, with the least storage."""
    for interval in _INTERVALS:
        try:
            return min((build_pipeline(schedule, options) for schedule in _schedules(program, options, interval)),
                       key=_storage)
        except SlowRecurrence:
            if interval == _INTERVALS[-1]:
                raise
    raise AssertionError("the last interval returns or raises")


def _schedules(program: Program, options: Options, interval: int) -> list[Schedule]:
    """A schedule for every number of tile loops that is not much slower than the best one."""
    def scheduled(depth: int) -> Schedule:
        return schedule_program(stage_streams(program, depth), options.fusion_level, interval=interval)

    if options.tile_depth is not None:
        return [scheduled(options.tile_depth)]
    found = [scheduled(0)]
    while True:
        try:
            found.append(scheduled(len(found)))
        except StreamError:
            break
    fastest = min(map(_cycles, found))
    return [schedule for schedule in found if _cycles(schedule) <= _SLOWER * fastest]


def _cycles(schedule: Schedule) -> int:
    ends = [schedule.statements[f.statement].last for f in schedule.staged.outputs]
    return (schedule.staged.tiles - 1) * schedule.period + max(ends) + 1


def _storage(built: BuiltPipeline) -> int:
    """Words of all buffers."""
    return sum(storage.words for storage in built.storage.values())
