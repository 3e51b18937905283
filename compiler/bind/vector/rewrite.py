"""Passes over graphs: every node is rebuilt, sources first, in a new builder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import replace
from functools import cached_property

from compiler.bind.vector.access import Access, compose, identity
from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.graph import Extend, Leaf, Node, Op, Reduce, Scatter, Stretch, Take, Value, nodes_of
from compiler.bind.vector.translate import Graph, Result

__all__ = ["Rewriter", "count_uses"]


def count_uses(roots: Iterable[Node]) -> Counter[Node]:
    """How often each node is read, results included."""
    roots = list(roots)
    uses = Counter(roots)
    for node in nodes_of(roots):
        uses.update(access.node for access in node.accesses)
    return uses


class Rewriter:
    """Rebuilds a graph. A pass is a subclass that overrides `visit` for the nodes that it changes.

    `visit` gives the value of a node of the old graph in terms of the new one, as seen from the old node's own space.
    Nodes of `ends` are rebuilt from nothing that they read.
    """

    def __init__(self, graph: Graph, builder: GraphBuilder, ends: Container[Node] = frozenset()) -> None:
        self.graph = graph
        self.builder = builder
        self.ends = ends
        self._values: dict[Node, Value] = {}

    @cached_property
    def uses(self) -> Counter[Node]:
        """How often each node of the old graph is read, results included."""
        return count_uses(r.node for r in self.graph.results)

    def run(self) -> Graph:
        """The rebuilt graph."""
        self.builder.constants.update(self.graph.constants)
        for node in nodes_of([r.node for r in self.graph.results], self.ends):
            self._values[node] = self.visit(node)
        results = [self.result(r) for r in self.graph.results]
        names = {n.name for n in nodes_of([r.node for r in results]) if isinstance(n, Leaf)}
        constants = {k: v for k, v in self.builder.constants.items() if k in names}
        return Graph(results, constants, self.graph.temporaries)

    def result(self, result: Result) -> Result:
        """An output in the new graph."""
        rank = len(result.shape)
        value = self._values[result.node]
        if isinstance(value, int) or not value.is_translation(rank):
            value = self.builder.copy(value, result.dtype, result.node.location, rank)
        starts = tuple(s + o for s, o in zip(result.starts, value.offset, strict=True))
        return replace(result, node=value.node, starts=starts)

    def seen(self, value: Value, rank: int) -> Value:
        """An operand of an old node, in the new graph."""
        if isinstance(value, int):
            return value
        new = self._values[value.node]
        return new if isinstance(new, int) else compose(new, value.matrix, value.offset, rank)

    def table(self, node: Take) -> Value:
        """The table of an old node, seen from its own space."""
        return self.seen(node.table, 1)

    def visit(self, node: Node) -> Value:
        """The same node again."""
        return self.same(node)

    def same(self, node: Node) -> Value:
        """`node` rebuilt from its rebuilt sources."""
        build = self.builder
        match node:
            case Leaf():
                return build.leaf(node.name, node.shape, node.dtype, node.low, node.high, node.location,
                                  node.boundaries, node.variant, node.part)
            case Op():
                operands = [self.seen(o, node.rank) for o in node.operands]
                return build.operation(node.operation, operands, node.dtype, node.location, node.rank)
            case Reduce():
                source = self.solid(self.seen(node.source, node.rank + len(node.extents)), node,
                                    node.rank + len(node.extents))
                return build.reduction(node.operation, source, node.extents, node.dtype, node.location)
            case Extend():
                return self._extend(node)
            case Stretch():
                source = self.solid(self.seen(node.source, node.rank), node, node.rank)
                return build.stretching(source, node.factors, node.location)
            case Take():
                return build.taking(self.table(node), node.length, self.seen(node.index, node.rank),
                                    node.location, node.rank)
            case Scatter():
                return self._scatter(node)
        raise TypeError(f"cannot rebuild {type(node).__name__}")

    def solid(self, value: Value, node: Node, rank: int) -> Access:
        """`value` as a vector."""
        return self.builder.copy(value, node.dtype, node.location, rank) if isinstance(value, int) else value

    def _scatter(self, node: Scatter) -> Value:
        rank = len(node.extents)
        index = self.seen(node.index, rank)
        if isinstance(index, int):
            index = self.builder.copy(index, node.index.node.dtype, node.location, rank)
        return self.builder.scattering(node, self.seen(node.base, 1), index, self.seen(node.value, rank))

    def _extend(self, node: Extend) -> Value:
        source = self.solid(self.seen(node.accesses[0], node.rank), node, node.rank)
        back = tuple(-s for s in node.starts)
        inside = compose(source, identity(node.rank), node.starts, node.rank)
        whole = self.builder.extension(inside, node.shape, node.dtype, node.boundaries, node.location)
        return compose(whole, identity(node.rank), back, node.rank)

