"""What a statement accumulates in floating-point numbers, term by term in the order of the program.

Every term rounds, so that no other order gives the same bits: the loops that add up become one statement per
iteration, each of which runs over all elements at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator as Steps
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import islpy as isl

from compiler.analysis.accesses import iterators_of
from compiler.analysis.boxes import extents
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.fixed_loops import without_loops
from compiler.ir.expr import Apply, Expr, Read, mentions
from compiler.ir.program import Program, Statement
from compiler.ir.types import Float

__all__ = ["MOST_TERMS", "FloatAccumulation", "float_accumulation", "in_order", "own_reads"]

MOST_TERMS = 1024
"""Terms of one element; each is an instruction of its own."""


@dataclass(frozen=True)
class FloatAccumulation:
    """The element becomes the result of `op` on `terms` with itself as operand `place` between them; `read` is the
    number of the read that fetches it."""

    op: str
    read: int
    terms: tuple[Expr, ...]
    place: int


_PLACES: Mapping[str, tuple[int, ...]] = {"add": (0, 1), "sub": (0,), "min": (0, 1), "max": (0, 1), "mad": (2,)}
"""Operations that accumulate, and which operand can be the element."""


def float_accumulation(program: Program, statement: Statement) -> FloatAccumulation | None:
    """What a statement accumulates in floating-point numbers; None if it is no such statement."""
    value, write = statement.value, statement.write
    own = own_reads(statement)
    if not isinstance(program.array(write.array).type, Float) or len(own) != 1 or not isinstance(value, Apply):
        return None
    places = [place for place, a in enumerate(value.args) if isinstance(a, Read) and a.index == own[0]]
    if len(places) != 1 or places[0] not in _PLACES.get(value.op, ()) or mentions(value, own[0]) != 1:
        return None
    if value.op == "mad" and _most_terms(statement) > MOST_TERMS:
        return None  # It stays a recurrence, in a loop.
    terms = tuple(a for place, a in enumerate(value.args) if place != places[0])
    return FloatAccumulation(value.op, own[0], terms, places[0])


def _most_terms(statement: Statement) -> int:
    """A bound of the terms of an element: the iterations of the loops that its index does not depend on."""
    moving = iterators_of(statement.write)
    return prod(size for k, size in enumerate(extents(statement.domain)) if k not in moving)


def own_reads(statement: Statement) -> list[int]:
    """Numbers of the reads that fetch the element that is written."""
    write = statement.write
    return [i for i, r in enumerate(statement.reads) if r.array == write.array and r.map.is_equal(write.map)]


def in_order(program: Program, statement: Statement, reduced: Sequence[int]) -> Steps[Statement]:
    """`statement` for one value after the other of its iterators of numbers `reduced`, in the order of the program.
    Raises `VectorTargetError` if there is no such order for all elements, or if there are too many."""
    if not reduced:
        yield statement
        return
    domain = statement.domain
    turns = domain.project_out_except([statement.iterators[k] for k in reduced], [isl.dim_type.set])
    count = turns.count_val().to_python()
    if count > MOST_TERMS:
        raise VectorTargetError(f"{statement}: {count} terms of a floating-point sum are added up in order; the vector "
                                f"target adds up to {MOST_TERMS}: add up parts in an array of their own, and then "
                                "these")
    order, signs = _loop_order(program, statement, reduced)
    ranges = []
    for k, sign in zip(order, signs, strict=True):
        low, high = (f(k).to_python() for f in (domain.dim_min_val, domain.dim_max_val))
        ranges.append(range(low, high + 1) if sign > 0 else range(high, low - 1, -1))
    for values in itertools.product(*ranges):
        part = without_loops(statement, dict(zip(order, values, strict=True)))
        if not part.domain.is_empty():
            yield part


def _loop_order(program: Program, statement: Statement, reduced: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    """The iterators from the outermost one, and whether each grows (1) or falls (-1), for which counting through them
    is the program's order of the terms of every element."""
    times = program.order_of(statement.name).intersect_domain(statement.domain)
    write = statement.write.map.intersect_domain(statement.domain)
    before = times.lex_lt_map(times).intersect(write.apply_range(write.reverse()))
    inside = ", ".join(f"i{k}" for k in range(len(statement.iterators)))
    for order in itertools.permutations(reduced):
        for signs in itertools.product((1, -1), repeat=len(order)):
            turn = ", ".join(f"{sign} * i{k}" for k, sign in zip(order, signs, strict=True))
            turns = isl.Map(f"{{ {statement.name}[{inside}] -> [{turn}] }}")
            if before.is_subset(turns.lex_lt_map(turns)):
                return order, signs
    raise VectorTargetError(f"{statement}: the terms of its floating-point sum come in another order for some elements "
                            "than for others; give the loops that add up bounds of their own")
