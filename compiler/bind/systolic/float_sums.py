"""Sums of floating-point numbers: rounded term by term, so that an array has to make them in the program's order."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from compiler.analysis.accesses import same_elements
from compiler.bind.systolic.errors import KernelError
from compiler.ir.expr import Apply, Const, Expr, Read, apply, converted, mentions, postorder, renumbered
from compiler.ir.program import Program, Statement
from compiler.ir.types import Float
from compiler.sched.space_time import Reduction, neutral, reduction

__all__ = ["accumulation", "check_order", "check_start", "in_order", "refusal"]


def accumulation(program: Program, statement: Statement) -> Reduction | None:
    """How `statement` accumulates: `compiler.sched.space_time.reduction` of integers, and sums of floating-point
    numbers of one term, ``x + e``, ``e + x`` or ``x - e``, also where a condition holds, whose order is kept
    (`check_order`, `in_order`)."""
    type_ = program.array(statement.write.array).type
    if not isinstance(type_, Float):
        return reduction(program, statement)
    own = [k for k, access in enumerate(statement.reads) if access.array == statement.write.array]
    if not own or not all(same_elements(statement.reads[k], statement.write, statement.domain) for k in own):
        return None
    value = renumbered(statement.value, lambda number: own[0] if number in own else number)
    term = _term(value, own[0], type_)
    return None if term is None or _is_read(value, own[0]) else Reduction("add", own[0], term)


def _term(value: Expr, own: int, type_: Float) -> Expr | None:
    """What is added to read `own`, once: negative zero, which changes no number, where it stays as it is."""
    if _is_read(value, own):
        return Const(neutral("add", type_), type_)
    match value:
        case Apply("select", (condition, *branches)) if not mentions(condition, own):
            terms = [_term(branch, own, type_) for branch in branches]
            known = [term for term in terms if term is not None]
            return apply("select", condition, *known) if len(known) == len(terms) else None
        case Apply("add" | "sub", (left, right)) if _is_read(left, own) and not mentions(right, own):
            return converted(right if value.op == "add" else apply("neg", right), type_)
        case Apply("add", (left, right)) if _is_read(right, own) and not mentions(left, own):
            return converted(left, type_)
    return None


def refusal(program: Program, statement: Statement) -> str:
    """Why `statement` is no sum that an array makes, "" if it is none of floating-point numbers."""
    if accumulation(program, statement) is not None or reduction(program, statement, floats=True) is None:
        return ""
    return (f"{statement} accumulates floating-point numbers in another form than a sum of one term, x = x + e, whose "
            "order an array keeps; legal is to put the terms of an iteration in brackets, x = x + (a + b), which "
            "rounds otherwise")


def check_start(update: Statement, body: Expr, start: Statement) -> None:
    """Raise `KernelError` if sums that `start` begins with elements may have no term at all: what is no number then
    keeps bits that an addition would change."""
    if any(isinstance(node, Const) and isinstance(node.type, Float) and node.value == neutral("add", node.type)
           for node in postorder(body)):
        raise KernelError(f"{update} adds floating-point numbers where a condition holds to elements that {start} "
                          "stores; legal is to start from a constant and to add the element when the sum is complete")


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
