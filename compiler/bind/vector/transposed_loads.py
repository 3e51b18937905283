"""Arrays that are read across their rows, loaded that way: the DMA engine takes an element a row, while lanes compute.

The alternative, a copy by the lanes, moves an element a cycle too, and nothing else is computed meanwhile.
"""

from __future__ import annotations

from compiler.bind.vector.access import Access, translated
from compiler.bind.vector.graph import Leaf, Node, Op, Part, Value
from compiler.bind.vector.rewrite import Rewriter

__all__ = ["TransposedLoadPass"]


class TransposedLoadPass(Rewriter):
    """Replaces copies of input arrays with their dimensions in another order by leaves in that order. `found`: whether
    there was one."""

    found = False

    def visit(self, node: Node) -> Value:
        order = self._order(node)
        if order is None or not isinstance(node, Op):
            return self.same(node)
        (access,) = node.accesses
        leaf = access.node
        assert isinstance(leaf, Leaf)
        self.found = True
        part = Part(leaf.shape, (0,) * leaf.rank, (1,) * leaf.rank, order)
        turned = self.builder.leaf(leaf.name, tuple(leaf.shape[d] for d in order), leaf.dtype, leaf.low, leaf.high,
                                   leaf.location, variant=leaf.variant, part=part)
        return translated(turned, tuple(access.offset[d] for d in order))

    def _order(self, node: Node) -> tuple[int, ...] | None:
        """Of a copy of an array the dimension of the array that each of its own is, if there is one for each and they
        are not in place; None for other nodes, and for those that the program stores."""
        if not isinstance(node, Op) or node.operation != "copy" or any(r.node is node for r in self.graph.results):
            return None
        (source,) = node.operands
        if not isinstance(source, Access) or not isinstance(leaf := source.node, Leaf) or not self._is_plain(leaf):
            return None
        rows = [[d for d, c in enumerate(row) if c] for row in source.matrix]
        turned = len(rows) == node.rank and sorted(rows) == [[d] for d in range(node.rank)]
        if not turned or any(c not in (0, 1) for row in source.matrix for c in row) or source.is_translation(node.rank):
            return None
        order = tuple(rows.index([d]) for d in range(node.rank))
        return order if source.node.dtype == node.dtype else None

    def _is_plain(self, leaf: Leaf) -> bool:
        """Whether that is an input array, all of it and nothing around it."""
        return leaf.part is None and not any(leaf.boundaries) and leaf.name not in self.graph.constants
