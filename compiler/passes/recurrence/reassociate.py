"""Sums in another order: what a statement computed itself a short time ago enters them last.

A recurrence through the first term of a long sum waits for all of its additions, through the last term for one. Sums of
integers wrap, so their terms may come in any order, as those of minima, maxima and bitwise operations; sums of
floating-point numbers keep theirs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from compiler.analysis.dependences import Dependence, flow
from compiler.ir.expr import Apply, Const, Expr, Read, children, fold, postorder, with_children
from compiler.ir.program import Program, Statement
from compiler.ir.relations import coordinates
from compiler.ir.types import BIT, Int
from compiler.passes.directives.terms import chains, combined

__all__ = ["OperandDepth", "reassociate_for_recurrences"]

OperandDepth = Callable[[Statement, int], int]
"""Of a statement and the number of one of its reads: how long it takes from this operand to the result."""

Distances = Mapping[int, tuple[int, ...]]
"""Number of a read of own results -> the least vector of loops from the computing to the reading instance."""

_Signed = tuple[int, Expr]
"""A term of a sum with its sign, 1 or -1."""


def reassociate_for_recurrences(program: Program, way: OperandDepth) -> tuple[Program, list[str]]:
    """`program` with other orders of terms where that makes recurrences shorter, and the names of the statements; those
    that share units stay alike."""
    shared = {name for group in program.shared for name in group}
    wanted = {s.name for s in program.statements
              if s.name not in shared and _reads_own(s) and _has_three_terms(s.value)}
    if not wanted:
        return program, []
    own: dict[str, dict[int, tuple[int, ...]]] = {name: {} for name in wanted}
    for dependence in flow(program):
        if dependence.source == dependence.sink and dependence.sink in wanted:
            own[dependence.sink][dependence.read] = _least_distance(dependence)
    changed = {name: new for name, distances in own.items() if distances
               and (new := _reordered(program.statement(name), distances, way)) is not None}
    statements = tuple(changed.get(s.name, s) for s in program.statements)
    return replace(program, statements=statements), sorted(changed)


def _reads_own(statement: Statement) -> bool:
    return any(access.array == statement.write.array for access in statement.reads)


def _has_three_terms(value: Expr) -> bool:
    return any(len(chain.terms) > 2 for chain in chains(value)) or any(len(terms) > 2 for _, terms in _sums(value))


def _least_distance(dependence: Dependence) -> tuple[int, ...]:
    return coordinates(dependence.relation.reverse().deltas().lexmin().sample_point())


def _reordered(statement: Statement, distances: Distances, way: OperandDepth) -> Statement | None:
    """`statement` with its terms in order; None if the read that is most urgent is not wanted later then."""
    new = replace(statement, value=_sorted(statement.value, distances))
    urgent = min(distances, key=distances.__getitem__)
    return new if way(new, urgent) < way(statement, urgent) else None


def _sorted(value: Expr, distances: Distances) -> Expr:
    """`value` with the terms of every sum and every other chain in the order of their urgency."""
    while (found := next(_changes(value, distances), None)) is not None:
        old, new = found

        def step(node: Expr, parts: list[Expr], old: Expr = old, new: Expr = new) -> Expr:
            return new if node is old else with_children(node, parts)

        value = fold(value, step)
    return value


def _changes(value: Expr, distances: Distances) -> Iterator[tuple[Expr, Expr]]:
    """Parts of a value and what they are with their terms in another order."""
    for root, terms in _sums(value):
        urgency = {id(term): _urgency(term, distances) for _, term in terms}
        new = _added(sorted(terms, key=lambda signed: (urgency[id(signed[1])], -signed[0])))
        if any(urgent != _RESTING for urgent in urgency.values()) and new != root:
            yield root, new
    for chain in chains(value):
        order = sorted(chain.terms, key=lambda term: _urgency(term, distances))
        if chain.op != "add" and order != list(chain.terms):
            yield chain.root, combined(chain, order)


def _sums(value: Expr) -> Iterator[tuple[Expr, list[_Signed]]]:
    """The sums and differences of integers in a value that are no part of larger ones, with their terms from left to
    right."""
    users: Counter[int] = Counter(id(child) for node in postorder(value) for child in children(node))
    inner: set[int] = set()
    for root in reversed(list(postorder(value))):
        if not _adds(root) or id(root) in inner:
            continue
        terms: list[_Signed] = []
        stack: list[_Signed] = [(1, root)]
        while stack:
            sign, node = stack.pop()
            if isinstance(node, Apply) and _adds(node) and (node is root or users[id(node)] == 1):
                inner.add(id(node))
                left, right = node.args
                stack += [(-sign if node.op == "sub" else sign, right), (sign, left)]
            else:
                terms.append((sign, node))
        yield root, terms


def _adds(node: Expr) -> bool:
    return isinstance(node, Apply) and node.op in ("add", "sub") and isinstance(node.type, Int) and node.type != BIT


def _added(terms: Sequence[_Signed]) -> Expr:
    """The sum of signed terms, in their order; where the first ones are subtracted, their sum is, later."""
    (sign, total), *rest = terms
    for other, term in rest:
        if sign == other:
            total = Apply("add", (total, term), total.type)
        else:
            total = Apply("sub", (total, term) if sign > 0 else (term, total), total.type)
            sign = 1
    return total if sign > 0 else Apply("sub", (Const(0, total.type), total), total.type)


_RESTING = (0,)
"""The urgency of what reads nothing of its own statement."""


def _urgency(term: Expr, distances: Distances) -> tuple[int, ...]:
    """Sorts terms that read nothing of their own first, then those that read what was computed longest ago."""
    found = [distances[node.index] for node in postorder(term) if isinstance(node, Read) and node.index in distances]
    return (1, *(-step for step in min(found))) if found else _RESTING
