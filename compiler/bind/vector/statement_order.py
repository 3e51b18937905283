"""The order in which statements can run, each as a whole; what a loop carries from turn to turn is done in turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce

import islpy as isl

from compiler.analysis.boxes import bounds
from compiler.bind.vector.accumulations import accumulation_of
from compiler.bind.vector.affine_pieces import divided
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.iteration_spaces import Space
from compiler.bind.vector.quotient_splitting import by_quotient
from compiler.bind.vector.residue_splitting import by_residue
from compiler.bind.vector.scans import scan_of
from compiler.bind.vector.statement_precedence import carries, groups_of, orderings
from compiler.bind.vector.turns import Turns, turns_in
from compiler.ir.expr import Store
from compiler.ir.program import Program, Statement

__all__ = ["MOST_STEPS", "carrying_turns", "is_scan", "ordered", "singles_of"]

MOST_STEPS = 128
"""Turns of a loop that are unrolled."""


def ordered(program: Program, statements: Sequence[Statement]) -> Iterator[Statement]:
    """Statements so that each can run as a whole. What a loop carries from turn to turn is done turn by turn."""
    for members in groups_of(program, statements):
        (first, *others) = members
        whole = isinstance(first.value, Store) or _runs_whole(program, first) or is_scan(program, first)
        if others or not whole:
            yield from _stepped(program, members)
        else:
            yield first


def carrying_turns(program: Program, statements: Sequence[Statement], agree: isl.Map | None = None) -> Turns:
    """The outermost loop around statements, of iterations that agree, that carries some values and turns none of their
    distances round: loops around it that carry nothing are interchanged with it, and run inside its turns at once.
    Where nothing is carried, the outermost loop in which iterations differ."""
    times = [program.order_of(s.name).intersect_domain(s.domain).range() for s in statements if not s.domain.is_empty()]
    distances = _distances(program, statements, agree)
    forward = set() if distances.is_empty() else \
        {d for d, (low, high) in enumerate(bounds(distances)) if low >= 0 < high}
    found = list(turns_in(times))
    return next((turns for turns in found if turns.dimension in forward), found[0] if found else Turns(0, 0, 0))


def _distances(program: Program, statements: Sequence[Statement], agree: isl.Map | None) -> isl.Set:
    """The distances in time between iterations of `statements` of which one has to come before the other."""
    orders = [program.order_of(s.name) for s in statements]
    found = [needed.apply_domain(first).apply_range(second).deltas()
             for a, first in zip(statements, orders, strict=True) for b, second in zip(statements, orders, strict=True)
             for needed in orderings(program, a, b, agree)]
    return reduce(isl.Set.union, found, isl.Set.empty(orders[0].range().get_space()))


def _runs_whole(program: Program, statement: Statement) -> bool:
    """Whether no iteration needs another's result, but for accumulating it, the write moves along the array's
    dimensions one loop each, and every point of the index space writes an element of its own."""
    accumulated = accumulation_of(program, statement) is not None
    if carries(program, statement):
        return False
    spaces = [Space(single) for single in singles_of(program, statement)]
    return not any(space.folds() or (not accumulated and space.repeats()) for space in spaces)


def is_scan(program: Program, statement: Statement) -> bool:
    """Whether a statement that needs its own results combines all of those before, and can be written whole."""
    singles = singles_of(program, statement)
    if len(singles) != 1 or accumulation_of(program, statement) is not None or scan_of(program, singles[0]) is None:
        return False
    space = Space(singles[0])
    return not space.folds() and not space.repeats()


def singles_of(program: Program, statement: Statement) -> list[Statement]:
    """The statement in parts in which every index is one function, affine or a sum divided by a number."""
    parts = divided(statement, lambda name: program.array(name).shape)
    return [single for part in parts for between in by_quotient(part) for single in by_residue(between)]


def _stepped(program: Program, statements: Sequence[Statement]) -> Iterator[Statement]:
    """The statements at the first value of the outermost loop that they run in, at the second value, and so on."""
    times = [program.order_of(s.name).intersect_domain(s.domain) for s in statements]
    turns = carrying_turns(program, statements)
    if turns.count > MOST_STEPS:
        raise VectorTargetError(f"{statements[0]}: a loop of {turns.count} iterations has a loop-carried "
                                "dependence; the vector target computes whole arrays, and unrolls at most "
                                f"{MOST_STEPS} iterations: call the program for {MOST_STEPS} of them at a time, or "
                                "compile it for fpga or dataflow")
    for value in range(turns.low, turns.high + 1):
        now = [replace(s, domain=t.fix_val(isl.dim_type.out, turns.dimension, isl.Val(value)).domain())
               for s, t in zip(statements, times, strict=True)]
        yield from ordered(program, [s for s in now if not s.domain.is_empty()])
