"""Sums of floating-point numbers: rounded term by term, so that an array has to make them in the program's order."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from compiler.analysis.accesses import same_elements
from compiler.bind.systolic.errors import KernelError
from compiler.ir.expr import Apply, Expr, Read, apply, converted, mentions
from compiler.ir.program import Program, Statement
from compiler.ir.types import Float
from compiler.sched.space_time import Reduction, reduction

__all__ = ["accumulation", "check_order", "in_order"]


def accumulation(program: Program, statement: Statement) -> Reduction | None:
    """How `statement` accumulates: `compiler.sched.space_time.reduction` of integers, and sums of floating-point
    numbers of one term, ``x + e``, ``e + x`` or ``x - e``, whose order is kept (`check_order`, `in_order`)."""
    type_ = program.array(statement.write.array).type
    if not isinstance(type_, Float):
        return reduction(program, statement)
    own = [k for k, access in enumerate(statement.reads) if access.array == statement.write.array]
    value = statement.value
    if len(own) != 1 or not same_elements(statement.reads[own[0]], statement.write, statement.domain):
        return None
    if not isinstance(value, Apply) or value.op not in ("add", "sub"):
        return None
    left, right = value.args
    if _is_read(left, own[0]) and not mentions(right, own[0]):
        term = right if value.op == "add" else apply("neg", right)
    elif value.op == "add" and _is_read(right, own[0]) and not mentions(left, own[0]):
        term = left
    else:
        return None
    return Reduction("add", own[0], converted(term, type_))


def _is_read(value: Expr, number: int) -> bool:
    return isinstance(value, Read) and value.index == number


def check_order(program: Program, update: Statement) -> None:
    """Raise `KernelError` unless the updates of every element come in the order of their loops."""
    order = program.order_of(update.name).intersect_domain(update.domain)
    writes = update.write.map.intersect_domain(update.domain)
    same = writes.apply_range(writes.reverse())
    by_loops = isl.Map.lex_lt(update.domain.get_space()).intersect(same)
    if not by_loops.is_subset(order.lex_lt_map(order)):
        raise KernelError(f"{update} adds floating-point numbers in another order than that of its loops "
                          f"{', '.join(update.iterators)}, which an array keeps; legal are loops that count up")


def in_order(loops: Sequence[str], tiles: Sequence[int], times: Sequence[tuple[str, int]]) -> bool:
    """Whether tiles of `tiles` turns along the reduction `loops`, outermost first, and in them steps along `times`
    (loop and extent, outermost first) take the terms of every sum in the order of the loops."""
    inside = [name for name, extent in times if extent > 1 and name in loops]
    if inside != sorted(inside, key=loops.index):
        return False
    return not any(name in inside and any(count > 1 for count in tiles[k + 1:]) for k, name in enumerate(loops))
