"""How much of a program proofs in numbers take: they look at every instance of every statement."""

from __future__ import annotations

from math import prod

from compiler.ir.limits import PROGRAM_LIMITS
from compiler.ir.program import Program
from hw.errors import SluiceError

__all__ = ["require_enumerable"]


def require_enumerable(program: Program, target: str, most_loops: int, error: type[SluiceError]) -> None:
    """Raise `error` for the first statement of `program` in more than `most_loops` loops (of more than one iteration),
    or with more instances in the box around its domain than can be looked at one by one. Takes no time that grows with
    the instances."""
    for statement in program.statements:
        dims = range(len(statement.iterators))
        trips = [statement.domain.dim_max_val(k).to_python() - statement.domain.dim_min_val(k).to_python() + 1
                 for k in dims]
        loops = sum(count > 1 for count in trips)
        if loops > most_loops:
            raise error(f"{statement}: it is in {loops} nested loops; target {target} takes up to {most_loops}: write "
                        "neighbouring loops as one")
        budget = PROGRAM_LIMITS.of("iterations")
        if prod(trips) * max(1, len(trips)) > budget:
            most = budget // max(1, len(trips))
            raise error(f"{statement}: it has {prod(trips)} instances; target {target} proves every one and takes up "
                        f"to {most} in {len(trips)} loops: make the extents of its loops smaller "
                        f"{PROGRAM_LIMITS.note('iterations')}")
