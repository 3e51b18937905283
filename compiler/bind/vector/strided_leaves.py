"""Arrays of which only every n-th row is read at a time, as parts of their own: a transfer can pick rows as it goes.

Rows of a part follow each other in the scratchpad, so instructions run over several of them, and expressions of even
and of odd rows find what they have in common in the same way as those of whole arrays.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.bind.vector.access import Access
from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.graph import Leaf, Part, Value, nodes_of
from compiler.bind.vector.rewrite import Rewriter
from compiler.bind.vector.translate import Graph

__all__ = ["split_parts"]


class _PartPass(Rewriter):
    """Replaces reads with steps along outer dimensions, where all reads of an array have the same steps."""

    def __init__(self, graph: Graph, builder: GraphBuilder) -> None:
        super().__init__(graph, builder)
        self._steps: dict[str, set[tuple[int, ...]]] = {}
        for node in nodes_of([r.node for r in graph.results]):
            for access in node.accesses:
                if isinstance(access.node, Leaf):
                    self._steps.setdefault(access.node.name, set()).add(_steps(access.node, access))

    def seen(self, value: Value, rank: int) -> Value:
        if isinstance(value, Access) and isinstance(value.node, Leaf) and self._divides(value.node):
            return self._parted(value.node, value)
        return super().seen(value, rank)

    def _divides(self, leaf: Leaf) -> bool:
        (steps, *others) = self._steps[leaf.name]
        plain = leaf.part is None and not any(leaf.boundaries) and leaf.name not in self.graph.constants
        return plain and not others and any(s > 1 for s in steps)

    def _parted(self, leaf: Leaf, access: Access) -> Access:
        steps = _steps(leaf, access)
        first = tuple(o % s for o, s in zip(access.offset, steps, strict=True))
        shape = tuple(-(-(n - f) // s) for n, f, s in zip(leaf.shape, first, steps, strict=True))
        part = self.builder.leaf(leaf.name, shape, leaf.dtype, leaf.low, leaf.high, leaf.location,
                                 variant=leaf.variant, part=Part(leaf.shape, first, steps))
        matrix = tuple(tuple(c // s for c in row) for row, s in zip(access.matrix, steps, strict=True))
        return Access(part.node, matrix, tuple(o // s for o, s in zip(access.offset, steps, strict=True)))


def _steps(leaf: Leaf, access: Access) -> tuple[int, ...]:
    """Steps of a read along each dimension of an array; 1 where it is not plain every n-th row."""
    return tuple(_inner_steps(leaf, access))


def _inner_steps(leaf: Leaf, access: Access) -> Iterator[int]:
    for dimension, row in enumerate(access.matrix):
        moving = [c for c in row if c]
        single = len(moving) == 1 and moving[0] > 1 and dimension < leaf.rank - 1
        yield moving[0] if single else 1


def split_parts(graph: Graph, builder: GraphBuilder) -> Graph:
    """The graph with parts as leaves."""
    return _PartPass(graph, builder).run()
