"""Phases that compute arrays element by element, whatever their dimensions, in one dimension."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from compiler.bind.vector.access import Access, compose, identity
from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.graph import Leaf, Node, Op, Value, nodes_of
from compiler.bind.vector.phases import Phase
from compiler.bind.vector.rewrite import Rewriter
from compiler.bind.vector.translate import Result

__all__ = ["flattened"]


def flattened(phase: Phase, builder: GraphBuilder) -> Phase:
    """The same phase with results of one dimension, if every element depends on those in its place alone: tiles can
    then have any number of elements."""
    rank = len(phase.shape)
    results = phase.graph.results
    whole = all(not any(r.starts) and r.memory is None for r in results)
    if rank < 2 or not whole or not all(_in_place(n, phase.shape) for n in nodes_of([r.node for r in results])):
        return phase
    return replace(phase, graph=_FlattenPass(phase.graph, builder).run())


def _in_place(node: Node, shape: tuple[int, ...]) -> bool:
    if isinstance(node, Leaf):
        return node.shape == shape and node.part is None and not any(node.boundaries)
    straight = all(a.is_translation(len(shape)) and not any(a.offset) for a in node.accesses)
    return isinstance(node, Op) and node.rank == len(shape) and straight


class _FlattenPass(Rewriter):
    def visit(self, node: Node) -> Value:
        if isinstance(node, Leaf):
            return self.builder.leaf(node.name, (prod(node.shape),), node.dtype, node.low, node.high, node.location,
                                     (None,), node.variant)
        assert isinstance(node, Op)
        operands = [o if isinstance(o, int) else self._flat(o) for o in node.operands]
        return self.builder.operation(node.operation, operands, node.dtype, node.location, 1)

    def _flat(self, access: Access) -> Value:
        value = self._values[access.node]
        return value if isinstance(value, int) else compose(value, identity(1), (0,), 1)

    def result(self, result: Result) -> Result:
        """An output of one dimension."""
        flat = replace(result, starts=(0,), shape=(prod(result.shape),))
        return super().result(flat)
