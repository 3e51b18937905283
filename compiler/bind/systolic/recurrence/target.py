"""Recurrences as arrays: programs of several statements, imperfect nests and triangular domains (Wang 2021, 4.1)."""

from __future__ import annotations

import time
from collections.abc import Sequence

import islpy as isl

from compiler.bind.systolic.recurrence.depths import sized_array
from compiler.bind.systolic.recurrence.design import RecurrenceDesign
from compiler.bind.systolic.recurrence.mapping import check_space, space_choices
from compiler.bind.systolic.recurrence.recurrence import Recurrence, analyse_recurrence
from compiler.bind.systolic.recurrence.settings import Settings
from compiler.ir.program import Program
from compiler.sched.space_time.errors import SpaceTimeError
from hw.main_memory import MainMemory

__all__ = ["MOST_CELLS", "compile_recurrence"]

MOST_CELLS = 900
"""Cells that an array may have: recurrences are not tiled, so extents of space loops are the array's."""

_MOST_INSTANCES = 200_000


def compile_recurrence(program: Program, space: Sequence[str] | None = None,
                       settings: Settings | None = None, memory: MainMemory | None = None) -> RecurrenceDesign:
    """Compile a verified `program` for an array as large as the extents of its `space` loops; without them the compiler
    takes two loops, those that make the fewest cells.

    Raises `SpaceTimeError` (dependences that are not uniform, space loops that are not legal, too many cells) and
    `DependenceError` (values that are read before they are written).
    """
    start = time.perf_counter()
    instances = sum(s.domain.count_val().to_python() for s in program.statements)
    if instances > _MOST_INSTANCES:
        raise SpaceTimeError(f"program '{program.name}' has {instances} statement instances; recurrences are not tiled "
                             f"and take up to {_MOST_INSTANCES}: make its extents smaller")
    recurrence = analyse_recurrence(program)
    chosen = check_space(recurrence, space) if space else _default_space(recurrence)
    cells = _cells(recurrence, chosen)
    if cells > MOST_CELLS:
        raise SpaceTimeError(f"program '{program.name}' would take {cells} cells with space loops {', '.join(chosen)}; "
                             f"recurrences are not tiled and take up to {MOST_CELLS}: make extents smaller or take one "
                             "space loop")
    array = sized_array(recurrence, chosen, settings or Settings())
    return RecurrenceDesign(program, array, time.perf_counter() - start, memory or MainMemory())


def _default_space(recurrence: Recurrence) -> tuple[str, ...]:
    choices = space_choices(recurrence)
    if not choices:
        raise SpaceTimeError(f"program '{recurrence.program.name}' has no legal space loop: along each of "
                             f"{', '.join(recurrence.loops)} some value travels more than one iteration at once")
    fits = [choice for choice in choices if _cells(recurrence, choice) <= MOST_CELLS]
    return min(fits or choices, key=lambda choice: (-len(choice), _cells(recurrence, choice)))


def _cells(recurrence: Recurrence, space: Sequence[str]) -> int:
    total = None
    for statement in recurrence.order:
        points = recurrence.points(statement)
        for position in reversed(range(len(recurrence.loops))):
            if recurrence.loops[position] not in space:
                points = points.project_out(isl.dim_type.set, position, 1)
        total = points if total is None else total.union(points)
    assert total is not None
    return total.coalesce().count_val().to_python()
