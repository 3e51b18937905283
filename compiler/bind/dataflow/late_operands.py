"""Sums in another order: what a statement computed itself a short time ago enters them last.

A recurrence through the first term of a long sum waits for all of its additions, through the last term for one. Sums of
integers wrap, so their terms may come in any order, as those of minima, maxima and bitwise operations; sums of
floating-point numbers keep theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import islpy as isl

from compiler.bind.dataflow.expressions import pipeline
from compiler.bind.dataflow.options import Options
from compiler.ir.expr import Expr, Read, postorder
from compiler.ir.program import Program, Statement
from compiler.sched.dependences import Dependence, flow
from compiler.sched.transform.terms import Chain, chains, combined

__all__ = ["with_late_operands"]

Distances = Mapping[int, tuple[int, ...]]
"""Number of a read of own results -> the least vector of loops from the computing to the reading instance."""


def with_late_operands(program: Program, options: Options) -> tuple[Program, list[str]]:
    """`program` with other orders of terms where that makes recurrences shorter, and the names of the statements."""
    wanted = {s.name for s in program.statements if _reads_own(s) and any(len(c.terms) > 2 for c in chains(s.value))}
    if not wanted:
        return program, []
    own: dict[str, dict[int, tuple[int, ...]]] = {name: {} for name in wanted}
    for dependence in flow(program):
        if dependence.source == dependence.sink and dependence.sink in wanted:
            own[dependence.sink][dependence.read] = _least_distance(dependence)
    tables = [table.name for table in program.tables]
    changed = {name: new for name, distances in own.items() if distances
               and (new := _reordered(program.statement(name), distances, options, tables)) is not None}
    statements = tuple(changed.get(s.name, s) for s in program.statements)
    return replace(program, statements=statements), sorted(changed)


def _reads_own(statement: Statement) -> bool:
    return any(access.array == statement.write.array for access in statement.reads)


def _least_distance(dependence: Dependence) -> tuple[int, ...]:
    point = dependence.relation.reverse().deltas().lexmin().sample_point()
    count = point.get_space().dim(isl.dim_type.set)
    return tuple(point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(count))


def _reordered(statement: Statement, distances: Distances, options: Options, tables: list[str]) -> Statement | None:
    """`statement` with its terms in order; None if the read that is most urgent is not wanted later then."""
    new = replace(statement, value=_sorted(statement.value, distances))
    urgent = min(distances, key=distances.__getitem__)
    before, after = (pipeline(s, options, tables) for s in (statement, new))
    shorter = after.latency - after.offsets[urgent] < before.latency - before.offsets[urgent]
    return new if shorter else None


def _sorted(value: Expr, distances: Distances) -> Expr:
    """`value` with every chain's terms in the order of their urgency."""
    while (found := _unsorted(value, distances)) is not None:
        chain, order = found
        value = chain.replaced(combined(chain, [chain.terms[k] for k in order]))
    return value


def _unsorted(value: Expr, distances: Distances) -> tuple[Chain, list[int]] | None:
    """A chain whose terms are to be in another order, and this."""
    for chain in chains(value):
        urgency = [_urgency(term, distances) for term in chain.terms]
        order = sorted(range(len(urgency)), key=urgency.__getitem__)
        if order != list(range(len(urgency))):
            return chain, order
    return None


def _urgency(term: Expr, distances: Distances) -> tuple[int, ...]:
    """Sorts terms that read nothing of their own first, then those that read what was computed longest ago."""
    found = [distances[node.index] for node in postorder(term) if isinstance(node, Read) and node.index in distances]
    return (1, *(-step for step in min(found))) if found else (0,)
