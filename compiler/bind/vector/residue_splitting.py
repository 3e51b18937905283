"""Indices that go round with an iterator, such as ``2 * (y / 2)`` or ``y % 3``: affine on every residue class of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import lcm, prod

import islpy as isl

from compiler.bind.vector.affine_pieces import parts_of
from compiler.ir import expr
from compiler.ir.expr import Apply, Cast, Const, Expr, fold, with_children
from compiler.ir.program import Access, Statement
from compiler.ir.types import Int

__all__ = ["MOST_CLASSES", "by_residue", "divided_sum", "rounded_parts"]

MOST_CLASSES = 64
"""Residue classes of a statement."""
_WORD = Int(32)


def divided_sum(aff: isl.Aff) -> isl.Aff | None:
    """The sum that an index divides, if it is ``floor(sum / number)`` and nothing else."""
    if aff.dim(isl.dim_type.div) != 1 or aff.get_denominator_val().to_python() != 1:
        return None
    rest = [aff.get_coefficient_val(isl.dim_type.in_, k).to_python() for k in range(aff.dim(isl.dim_type.in_))]
    one = aff.get_coefficient_val(isl.dim_type.div, 0).to_python()
    plain = one == 1 and not any(rest) and aff.get_constant_val().to_python() == 0
    return aff.get_div(0) if plain else None


def rounded_parts(aff: isl.Aff) -> list[isl.Aff]:
    """What an index rounds down before it adds it up."""
    return [aff.get_div(d) for d in range(aff.dim(isl.dim_type.div))
            if aff.get_coefficient_val(isl.dim_type.div, d).to_python()]


def by_residue(statement: Statement, most: int = MOST_CLASSES) -> list[Statement]:
    """The statement, or one for each residue class of its iterators in which every index is affine or a sum divided by
    a number: iterator i of a class is ``period * i + residue`` of the statement's."""
    periods = _periods(statement)
    residues = [_residues(statement.domain, k, period) for k, period in enumerate(periods)]
    if all(period == 1 for period in periods) or prod(map(len, residues)) > most:
        return [statement]
    classes = (_class(statement, periods, found) for found in itertools.product(*residues))
    parts = [part for part in classes if not part.domain.is_empty()]
    # A sum that was divided by a number may be one no longer, in the steps of a class.
    return [single for part in parts for single in by_residue(part, most // len(parts))]


def _residues(domain: isl.Set, iterator: int, period: int) -> list[int]:
    """Those that the values of an iterator can have."""
    low, high = (value.to_python() for value in (domain.dim_min_val(iterator), domain.dim_max_val(iterator)))
    return sorted({value % period for value in range(low, min(high, low + period - 1) + 1)})


def _periods(statement: Statement) -> list[int]:
    """Per iterator, after how many steps every index goes on as before."""
    found = [1] * len(statement.iterators)
    for access in (*statement.reads, statement.write):
        for _, index in parts_of(access, statement.domain):
            for aff in (index.get_aff(d) for d in range(index.dim(isl.dim_type.out))):
                if divided_sum(aff) is None or access is statement.write:
                    found = [lcm(a, b) for a, b in zip(found, _turns(aff), strict=True)]
    return found


def _turns(aff: isl.Aff) -> Iterator[int]:
    """Per iterator, the steps after which the rounded parts of an index go on as before."""
    sums = [aff, *rounded_parts(aff)]
    for k in range(aff.dim(isl.dim_type.in_)):
        steps = [part.get_coefficient_val(isl.dim_type.in_, k) for part in sums]
        yield lcm(*(step.get_den_val().to_python() for step in steps))


def _class(statement: Statement, periods: Sequence[int], residues: Sequence[int]) -> Statement:
    place = isl.MultiAff.identity(statement.domain.get_space().map_from_set())
    for k, (period, residue) in enumerate(zip(periods, residues, strict=True)):
        place = place.set_aff(k, place.get_aff(k).scale_val(isl.Val(period)).add_constant_val(isl.Val(residue)))

    def moved(access: Access) -> Access:
        return replace(access, map=access.map.preimage_domain_multi_aff(place))

    steps = dict(zip(statement.iterators, zip(periods, residues, strict=True), strict=True))
    return replace(statement, domain=statement.domain.preimage_multi_aff(place), write=moved(statement.write),
                   reads=tuple(map(moved, statement.reads)), value=_counted(statement.value, steps))


def _counted(value: Expr, steps: dict[str, tuple[int, int]]) -> Expr:
    """`value` in terms of the iterators of a class."""

    def step(node: Expr, arguments: list[Expr]) -> Expr:
        if not isinstance(node, expr.Iterator):
            return with_children(node, arguments)
        period, residue = (Const(n, _WORD) for n in steps[node.name])
        place = Apply("add", (Apply("mul", (replace(node, type=_WORD), period), _WORD), residue), _WORD)
        return place if node.type == _WORD else Cast(place, node.type)

    return fold(value, step)
