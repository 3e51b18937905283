"""Sums of many terms that differ by equal steps are reductions: ``a[:, 0] * b[0] + a[:, 1] * b[1] + ...`` is a sum over
a dimension of its own, whoever wrote out its loop.

Terms are alike if they differ in the offsets of the accesses alone that they are computed from; where those grow by the
same steps from term to term, they are one expression over one more dimension. Sums wrap in their type, so their terms
may be added in any order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from compiler.bind.vector.access import Access, compose
from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.graph import Node, Op, Value, nodes_of, seen_from
from compiler.bind.vector.rewrite import Rewriter
from compiler.bind.vector.translate import Graph

__all__ = ["ContractionPass"]

LEAST = 4
"""Terms that are worth a reduction."""

DEPTH = 4
"""Operations inside each other that terms are compared in; what lies deeper has to be the same."""

Offsets = tuple[int, ...]
"""The offsets of all accesses of a term, one after the other."""


class ContractionPass(Rewriter):
    """Replaces sums of at least `LEAST` terms that are alike by reductions."""

    def __init__(self, graph: Graph, builder: GraphBuilder) -> None:
        super().__init__(graph, builder)
        nodes = list(nodes_of([r.node for r in graph.results]))
        self._inner = {a.node for n in nodes if _is_sum(n) for a in n.accesses if self._continues(n, a)}

    def visit(self, node: Node) -> Value:
        if isinstance(node, Op) and _is_sum(node) and node not in self._inner:
            terms = list(self._terms(node))
            if len(terms) >= LEAST and (total := self._contracted(node, terms)) is not None:
                return total
        return self.same(node)

    def _continues(self, node: Node, access: Access) -> bool:
        """Whether what a sum reads is nothing but a part of the same sum."""
        return _is_sum(access.node) and access.node.dtype == node.dtype and self.uses[access.node] == 1

    def _terms(self, node: Op) -> Iterator[Value]:
        """What a sum adds up, in order, seen from its space."""
        waiting: list[tuple[Op, Value]] = [(node, o) for o in reversed(node.operands)]
        while waiting:
            total, value = waiting.pop()
            if isinstance(value, Access) and value.node in self._inner and self._continues(total, value):
                assert isinstance(value.node, Op)
                inner = value.node
                waiting += [(inner, o) for o in reversed(seen_from(value))]
            else:
                yield value

    def _contracted(self, node: Op, terms: Sequence[Value]) -> Value | None:
        """The sum with a reduction for every series of terms; None if there is none."""
        alike: dict[object, list[Access]] = {}
        rest: list[Value] = []
        for term in terms:
            if isinstance(term, Access):
                alike.setdefault(_form(term, DEPTH), []).append(term)
            else:
                rest.append(term)
        sums: list[Value] = []
        for group in alike.values():
            series = self._series(sorted(group, key=lambda term: tuple(_offsets(term, DEPTH))), node.rank)
            if series is None:
                rest += group
            else:
                term = self.solid(series, node, node.rank + 1)
                sums.append(self.builder.reduction("add", term, (len(group),), node.dtype, node.location))
        if not sums:
            return None
        new = [*(self.seen(term, node.rank) for term in rest), *sums]
        total = new[0]
        for value in new[1:]:
            total = self.builder.operation("add", (total, value), node.dtype, node.location, node.rank)
        return total

    def _series(self, terms: Sequence[Value], rank: int) -> Value | None:
        """One expression for terms that are seen from a space of `rank` dimensions, over one more dimension."""
        return self._unified(terms, rank) if len(terms) >= LEAST and terms[0] != terms[1] else None

    def _unified(self, values: Sequence[Value], rank: int) -> Value | None:
        """Values of successive terms as one over one more dimension; None if they do not grow by equal steps."""
        if isinstance(first := values[0], int):
            return first if all(value == first for value in values) else None
        accesses = [value for value in values if isinstance(value, Access)]
        if all(a.node is first.node and a.matrix == first.matrix for a in accesses):
            steps = _steps([a.offset for a in accesses])
            if steps is None:
                return None
            matrix = tuple((*row, step) for row, step in zip(first.matrix, steps, strict=True))
            return self.seen(Access(first.node, matrix, first.offset), rank + 1)
        used = [d for d in range(rank) if any(row[d] for a in accesses for row in a.matrix)]
        inner = self._operation([_narrowed(a, used) for a in accesses], len(used))
        if not isinstance(inner, Access):
            return inner
        choice = tuple(tuple(int(d == u) for d in range(rank + 1)) for u in (*used, rank))
        return compose(inner, choice, (0,) * (len(used) + 1), rank + 1)

    def _operation(self, accesses: Sequence[Access], rank: int) -> Value | None:
        """The same of different operations of one kind."""
        node = accesses[0].node
        assert isinstance(node, Op)
        columns = zip(*(seen_from(a) for a in accesses), strict=True)
        operands = [value for value in (self._unified(column, rank) for column in columns) if value is not None]
        if len(operands) < len(node.operands):
            return None
        return self.builder.operation(node.operation, operands, node.dtype, node.location, rank + 1)


def _is_sum(node: Node) -> bool:
    return isinstance(node, Op) and node.operation == "add"


def _narrowed(access: Access, used: Sequence[int]) -> Access:
    """`access` for a consumer that has only those dimensions."""
    return Access(access.node, tuple(tuple(row[d] for d in used) for row in access.matrix), access.offset)


def _form(term: Access, depth: int) -> object:
    """A term without its offsets: equal for terms that are alike."""
    if not depth or not isinstance(term.node, Op):
        return term.node, term.matrix
    operands = tuple(o if isinstance(o, int) else _form(o, depth - 1) for o in seen_from(term))
    return term.node.operation, term.node.dtype, operands


def _offsets(term: Value, depth: int) -> Iterator[int]:
    if isinstance(term, int):
        return
    if not depth or not isinstance(term.node, Op):
        yield from term.offset
        return
    for operand in seen_from(term):
        yield from _offsets(operand, depth - 1)


def _steps(places: Sequence[Offsets]) -> Offsets | None:
    """By how much each offset grows from each term to the next."""
    steps = tuple(b - a for a, b in zip(places[0], places[1], strict=True))
    even = all(tuple(b - a for a, b in zip(x, y, strict=True)) == steps for x, y in itertools.pairwise(places))
    return steps if even else None
