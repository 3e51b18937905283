"""I/O groups: which data moves, along which dependence, in which direction (Wang 2021, algorithms 2 and 3)."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from compiler.bind.systolic.plan import Plan
from compiler.sched.space_time import Kind
from hw.systolic.spec import EAST, INTERIOR, Direction, OperandSpec

__all__ = ["IoGroup", "io_groups"]

_WAYS = {EAST: "east, from a feeder per row", INTERIOR: "into every element, from a feeder of its own"}


@dataclass(frozen=True)
class IoGroup:
    """Data of one access. `distance`: of its dependence on (row, column); `exterior`: carried by the array's axes, so
    that neighbours pass it on. `modules`: feeders, and levels of the chain before them. `copy_in` and `copy_out`: the
    statement instances that need words from memory, or leave words for it. `pruned`: tile loops along which nothing is
    transferred, because what is there is what is needed."""

    name: str
    kind: Kind
    distance: Direction
    exterior: bool
    modules: str
    copy_in: isl.Set
    copy_out: isl.Set
    pruned: tuple[str, ...]

    def __str__(self) -> str:
        side = "exterior" if self.exterior else "interior"
        kept = f", kept while {', '.join(self.pruned)} step" if self.pruned else ""
        return f"{self.kind}, {side}, {self.modules}{kept}"


def io_groups(plan: Plan) -> list[IoGroup]:
    """One group per operand, one per extra, and one for the results."""
    return [*(_operand(plan, operand) for operand in plan.spec.operands),
            *(_extra(plan, extra.name) for extra in plan.spec.extras), _result(plan)]


def _extra(plan: Plan, name: str) -> IoGroup:
    """Elements that finished results meet on their way to memory."""
    update = plan.kernel.analysis.program.statement(plan.kernel.update)
    return IoGroup(name, "read", EAST, True, "one for each result, to the function on their way to memory",
                   _lasts(plan), isl.Set.empty(update.domain.get_space()), ())


def _lasts(plan: Plan) -> isl.Set:
    """Last updates of every accumulator."""
    update = plan.kernel.analysis.program.statement(plan.kernel.update)
    return update.write.map.intersect_domain(update.domain).reverse().lexmax().range()


def _operand(plan: Plan, operand: OperandSpec) -> IoGroup:
    update = plan.kernel.analysis.program.statement(plan.kernel.update)
    way = _WAYS.get(operand.direction, "south, from a feeder per column")
    inner = plan.spec.innermost(operand, plan.tiles)
    pruned = tuple(loop.name for k, loop in enumerate(plan.spec.tile_loops) if k > inner)
    needed = update.domain if not operand.initial else _firsts(plan)
    return IoGroup(operand.name, "flow" if operand.initial else "read", operand.direction,
                   operand.direction is not INTERIOR, f"{way}{', the same in all' if operand.copied else ''}",
                   needed, isl.Set.empty(update.domain.get_space()), pruned)


def _firsts(plan: Plan) -> isl.Set:
    """First updates of every accumulator."""
    update = plan.kernel.analysis.program.statement(plan.kernel.update)
    write = update.write.map.intersect_domain(update.domain)
    return write.reverse().lexmin().range()


def _result(plan: Plan) -> IoGroup:
    """Results leave from the last updates; partial sums stay where they are, or go along the reduced axes."""
    update = plan.kernel.analysis.program.statement(plan.kernel.update)
    space = plan.spec.result.space
    ways = {"none": "from every element east and down the edge", "columns": "summed along rows, down the east edge",
            "both": "summed along rows and down the east edge"}
    kept = () if space != "none" else tuple(loop.name for loop in plan.spec.tile_loops if loop.reduction)
    return IoGroup(plan.kernel.output, "output", EAST if space != "none" else INTERIOR, space != "none", ways[space],
                   isl.Set.empty(update.domain.get_space()), _lasts(plan), kept)
