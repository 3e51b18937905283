"""The fpga target: the array's static schedule, and a pipeline of its own for every program."""

from __future__ import annotations

import time

from compiler.bind.fpga.build import BuiltPipeline, build_pipeline
from compiler.bind.fpga.design import FpgaDesign
from compiler.bind.fpga.memory import stream_of
from compiler.bind.fpga.options import Options
from compiler.bind.fpga.validate import validate
from compiler.ir.program import Program
from compiler.ir.verify import verify
from compiler.sched.cycle_accurate import Schedule, schedule_program
from compiler.sched.liveness import remove_dead_statements
from compiler.sched.partition import partition
from compiler.sched.streams import StreamError, stage_streams
from compiler.sched.verify import check_parts
from hw.pipeline.system import SystemSpec

__all__ = ["PLACE", "Options", "compile_program"]

PLACE = "a pipeline of its own"
"""What results call the target."""

_SLOWER = 1.1
"""Tile loops may make a program this many times slower, if that saves storage."""


def compile_program(program: Program, options: Options) -> FpgaDesign:
    """Compile `program`; the finished pipeline is proven from outside.

    Raises `ProgramError`, `NoOutputError`, `DependenceError`, `StreamError`, `FusionError` and `FpgaError`, each naming
    what does not fit, and `ValidationError` for a fault of the compiler.
    """
    start = time.perf_counter()
    verify(program)
    parts = partition(program)
    live = remove_dead_statements(parts.program)
    built = min((build_pipeline(schedule, options) for schedule in _schedules(live, options)), key=_storage)
    staged, spec = built.schedule.staged, built.spec
    place = {f.array: stream_of(staged, f, live.array(f.array)) for f in (*staged.inputs, *staged.outputs)}
    system = SystemSpec(spec, tuple(place[c.name] for c in spec.inputs), tuple(place[c.name] for c in spec.outputs),
                        options.bus_bits)
    check_parts(parts)
    validate(parts.program, built, system)
    return FpgaDesign(parts.original, parts, options, built, system, time.perf_counter() - start)


def _schedules(program: Program, options: Options) -> list[Schedule]:
    """A schedule for every number of tile loops that is not much slower than the best one."""
    if options.tile_depth is not None:
        return [schedule_program(stage_streams(program, options.tile_depth), options.fusion_level)]
    found = [schedule_program(stage_streams(program, 0), options.fusion_level)]
    while True:
        try:
            staged = stage_streams(program, len(found))
        except StreamError:
            break
        found.append(schedule_program(staged, options.fusion_level))
    fastest = min(map(_cycles, found))
    return [schedule for schedule in found if _cycles(schedule) <= _SLOWER * fastest]


def _cycles(schedule: Schedule) -> int:
    ends = [schedule.statements[f.statement].last for f in schedule.staged.outputs]
    return (schedule.staged.tiles - 1) * schedule.period + max(ends) + 1


def _storage(built: BuiltPipeline) -> int:
    """Words of all buffers."""
    return sum(storage.words for storage in built.storage.values())
