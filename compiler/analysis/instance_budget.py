"""How much of a program proofs in numbers take, which look at every instance, and how many instances there are."""

from __future__ import annotations

from functools import lru_cache

import islpy as isl

from compiler.analysis.boxes import extents
from compiler.analysis.counting import UncountedError, box_volume, count
from compiler.ir.limits import PROGRAM_LIMITS
from compiler.ir.program import Program
from hw.errors import SluiceError

__all__ = ["are_few", "box_volume", "count_instances", "includes", "require_few", "require_shallow"]


_FEW = 4096
"""Points that are looked at sooner than counted."""


@lru_cache(maxsize=1024)
def count_instances(points: isl.Set) -> int:
    """The number of points of a bounded set, in time that does not grow with it but for sets with strides and the like
    (`compiler.analysis.counting`), whose points isl looks at."""
    if points.is_box():
        return box_volume(points)
    if are_few(points):
        return points.count_val().to_python()
    try:
        return count(points)
    except UncountedError:
        return points.count_val().to_python()


def are_few(points: isl.Set) -> bool:
    """Whether the points of a bounded set are looked at faster one by one than in any other way."""
    return box_volume(points) <= _FEW


def includes(points: isl.Set, others: isl.Set) -> bool:
    """Whether all of `others` are among `points`, which isl proves slowly where these are in many pieces."""
    if not are_few(others):
        return others.is_subset(points)
    return points.intersect(others).count_val().eq(others.count_val())


def require_few(points: isl.Set, what: str, reason: object, error: type[SluiceError]) -> None:
    """Raise `error` if `points` of `what`, which would have to be looked at one by one because of `reason`, are too
    many for that."""
    budget = PROGRAM_LIMITS.of("iterations") // max(1, points.dim(isl.dim_type.set))
    if (volume := box_volume(points)) > budget:
        raise error(f"{what}: {volume} values would have to be looked at one by one ({reason}), more than {budget}: "
                    "make the extents of its loops smaller, or their bounds sums of a loop around and a constant "
                    f"{PROGRAM_LIMITS.note('iterations')}")


def require_shallow(program: Program, target: str, most_loops: int, error: type[SluiceError]) -> None:
    """Raise `error` for the first statement of `program` in more than `most_loops` loops (of more than one
    iteration)."""
    for statement in program.statements:
        loops = sum(count > 1 for count in extents(statement.domain))
        if loops > most_loops:
            raise error(f"{statement}: it is in {loops} nested loops; target {target} takes up to {most_loops}: write "
                        "neighbouring loops as one")
