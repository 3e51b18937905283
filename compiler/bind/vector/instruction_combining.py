"""Combining: several operations become one instruction, and views that no instruction can read become copies."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from compiler.bind.vector.access import Access, compose, whole
from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.float_words import ORDERED, is_signless, repeated_operand
from compiler.bind.vector.graph import FUSED_ADDS, Leaf, Node, Op, Reduce, Scatter, Take, Value, nodes_of, tables_of
from compiler.bind.vector.rewrite import Rewriter
from compiler.bind.vector.translate import Graph, Result
from compiler.bind.vector.value_ranges import wraps

__all__ = ["CombinePass", "CopyPass", "NarrowPass", "is_contiguous"]


class CombinePass(Rewriter):
    """Multiply-adds out of sums of products with numbers; conversions as part of the operation before them; one leaf
    for an array that is read with and without boundaries."""

    def __init__(self, graph: Graph, builder: GraphBuilder) -> None:
        super().__init__(graph, builder)
        self._extended: dict[str, list[Leaf]] = {}
        self._claimed: set[Node] = set()
        self._kept: set[Node] = {r.node for r in graph.results}
        for node in nodes_of([r.node for r in graph.results]):
            if not isinstance(node, Op) or node.operation not in ("add", "subtract"):
                self._kept.update(access.node for access in node.accesses)
            if isinstance(node, Leaf) and any(node.boundaries):
                self._extended.setdefault(node.name, []).append(node)

    def visit(self, node: Node) -> Value:
        if isinstance(node, Leaf) and len(self._extended.get(node.name, [])) == 1:
            return self.same(self._extended[node.name][0])
        if isinstance(node, Op) and node.operation == "convert":
            return self._convert(node)
        if isinstance(node, Op) and node.operation in ("add", "subtract"):
            return self._sum(node, node.operands, node.dtype)
        if isinstance(node, Op) and node.operation in ("float_add", "bfloat_add"):
            return self._float_sum(node)
        return self.same(node)

    def _float_sum(self, node: Op) -> Value:
        """A sum with a product as multiply-add, which rounds twice as well."""
        for total, product in (node.operands, node.operands[::-1]):
            prefix = node.operation.removesuffix("add")
            found = self._number_and_vector(product, node.rank, f"{prefix}multiply")
            if found is not None and self._consumable(total, node.rank):
                moved = (self.seen(total, node.rank), found[0], self.seen(found[1], node.rank))
                if all(isinstance(x, Access) for x in (moved[0], moved[2])):
                    return self.builder.operation(f"{prefix}multiply_add", moved, node.dtype, node.location, node.rank)
        return self.same(node)

    def _convert(self, node: Op) -> Value:
        """A conversion is free if the operation before it has no other use: it writes fewer bytes."""
        (source,) = node.operands
        assert isinstance(source, Access)
        before = source.node
        alone = isinstance(before, Op) and self.uses[before] == 1 and before.operation not in ("convert", "copy")
        if not alone or not source.is_translation(node.rank):
            return self.same(node)
        assert isinstance(before, Op)
        exact = not wraps(before)
        if not exact and before.dtype.itemsize < node.dtype.itemsize:
            return self.same(node)
        operands = [compose(o, source.matrix, source.offset, node.rank) if isinstance(o, Access) else o
                    for o in before.operands]
        if before.operation in ("add", "subtract"):
            return self._sum(before, operands, node.dtype)
        new = [self.seen(o, node.rank) for o in operands]
        return self.builder.operation(before.operation, new, node.dtype, node.location, node.rank)

    def _sum(self, node: Op, operands: tuple[Value, ...] | list[Value], dtype: np.dtype) -> Value:
        """A sum with a product as multiply-add, if the other operand is needed nowhere else."""
        a, b = operands
        ways = [(a, b, 1)] if node.operation == "add" else []
        ways = [*ways, (b, a, 1)] if node.operation == "add" else [(a, b, -1)]
        for total, product, sign in ways:
            factor = self._product(product, dtype, node.rank)
            if factor is None or not self._consumable(total, node.rank):
                continue
            number, vector = factor
            moved = (self.seen(total, node.rank), sign * number, self.seen(vector, node.rank))
            if all(isinstance(x, Access) for x in (moved[0], moved[2])):
                return self.builder.operation("multiply_add", moved, dtype, node.location, node.rank)
        new = [self.seen(o, node.rank) for o in operands]
        return self.builder.operation(node.operation, new, dtype, node.location, node.rank)

    def _product(self, value: Value, dtype: np.dtype, rank: int) -> tuple[int, Access] | None:
        """Number and vector of a product that may be computed inside a sum of type `dtype`."""
        if isinstance(value, Access) and isinstance(value.node, Op) and value.node.operation == "multiply" and (
                wraps(value.node) and value.node.dtype.itemsize < dtype.itemsize):
            return None
        return self._number_and_vector(value, rank, "multiply")

    @staticmethod
    def _number_and_vector(value: Value, rank: int, operation: str) -> tuple[int, Access] | None:
        """Number and vector of a product by `operation`."""
        if isinstance(value, int) or not isinstance(value.node, Op) or value.node.operation != operation:
            return None
        node = value.node
        operands = [compose(o, value.matrix, value.offset, rank) if isinstance(o, Access) else o
                    for o in node.operands]
        numbers = [o for o in operands if isinstance(o, int)]
        vectors = [o for o in operands if isinstance(o, Access)]
        return (numbers[0], vectors[0]) if numbers and value.is_translation(rank) else None

    def _consumable(self, value: Value, rank: int) -> bool:
        if isinstance(value, int) or not isinstance(value.node, Op) or not value.is_translation(rank):
            return False
        if self.uses[value.node] == 1:
            return True
        return self._claim(value.node)

    def _claim(self, product: Op) -> bool:
        """A product that other sums compute inside multiply-adds may begin one sum as itself."""
        numbers = any(isinstance(o, int) for o in product.operands)
        if product.operation != "multiply" or not numbers or product in self._claimed | self._kept:
            return False
        self._claimed.add(product)
        return True


class NarrowPass(Rewriter):
    """Arrays whose elements are known to fit fewer bytes than they have, and that are read more than once, are
    narrowed on the way in: one operation at full width, all that follow at a half or a quarter of the work."""

    def visit(self, node: Node) -> Value:
        value = self.same(node)
        if not isinstance(node, Leaf) or not isinstance(value, Access) or not self._worth(node):
            return value
        kind = np.dtype(f"{'i' if node.low < 0 else 'u'}{_bytes(node)}")
        return self.builder.copy(value, kind, node.location, node.rank)

    @cached_property
    def _tables(self) -> set[Node]:
        """Tables are not computed with."""
        return tables_of(nodes_of([r.node for r in self.graph.results]))

    def _worth(self, node: Leaf) -> bool:
        if node in self._tables:
            return False
        repeated = self.uses[node] > 1 or any(
            len(a.matrix[0]) > node.rank for n in nodes_of([r.node for r in self.graph.results]) for a in n.accesses
            if a.node is node and a.matrix)
        return _bytes(node) < node.dtype.itemsize and repeated and node.rank > 0


def _bytes(node: Node) -> int:
    """Bytes that hold the node's range."""
    return next(s for s in (1, 2, 4) if (-(1 << 8 * s - 1) <= node.low and node.high < 1 << 8 * s - 1)
                or (node.low >= 0 and node.high < 1 << 8 * s))


class CopyPass(Rewriter):
    """Operands that do not step through memory element by element, as instructions need it, are copied first.

    The copy has only those dimensions in which the operand changes, and the innermost.
    """

    def visit(self, node: Node) -> Value:
        if isinstance(node, Op) and node.operation != "copy":
            operands = [self.seen(o, node.rank) for o in node.operands]
            if node.operation in FUSED_ADDS:
                operands = self._with_vector(node, *operands)
            kept = repeated_operand(node.operation, operands)
            operands = [o if i == kept else self._contiguous(o, node) for i, o in enumerate(operands)]
            if node.operation in ("left_shift", "right_shift") and isinstance(operands[0], int):
                operands[0] = self.builder.copy(operands[0], node.dtype, node.location, node.rank)
            number = operands[1] if node.operation in ORDERED else None
            if isinstance(number, int) and not is_signless(node.operation, number):
                operands[1] = self.builder.copy(operands[1], node.dtype, node.location, node.rank)
            return self.builder.operation(node.operation, operands, node.dtype, node.location, node.rank)
        if isinstance(node, Reduce):
            return self._reduce(node)
        if isinstance(node, Take):
            index = self._contiguous(self.seen(node.index, node.rank), node)
            return self.builder.taking(self.table(node), node.length, index, node.location, node.rank)
        if isinstance(node, Scatter):
            return self._scatter_of(node)
        return self.same(node)

    def _with_vector(self, node: Op, total: Value, a: Value, b: Value) -> list[Value]:
        """The operands of a fused multiply-add, the last of which is a vector."""
        if isinstance(b, int):
            a, b = b, a
        if isinstance(b, int):
            b = self.builder.copy(b, node.dtype, node.location, node.rank)
        return [total, a, b]

    def _scatter_of(self, node: Scatter) -> Value:
        """Values of the size of the result."""
        rank = len(node.extents)
        base, index, value = self.seen(node.base, 1), self.seen(node.index, rank), self.seen(node.value, rank)
        if isinstance(index, int):
            index = self.builder.copy(index, node.index.node.dtype, node.location, rank)
        base = base if isinstance(base, int) or is_contiguous(base) else self._copied(base, node, 1)
        index = index if is_contiguous(index) else self._copied(index, node, rank)
        if isinstance(value, Access):
            value = self.builder.copy(value, node.dtype, node.location, rank)
        assert isinstance(index, Access)
        return self.builder.scattering(node, base, index, value)

    def result(self, result: Result) -> Result:
        """A result of a wider type than the node that wraps is converted on its own, and so is one of another type than
        the table that it comes from."""
        new = super().result(result)
        if isinstance(new.node, Take | Scatter) and new.node.dtype.itemsize != new.dtype.itemsize:
            return self._converted(new)
        if new.node.dtype.itemsize >= new.dtype.itemsize or not isinstance(new.node, Op | Reduce):
            return new
        if isinstance(new.node, Op) and not wraps(new.node):
            return new
        return self._converted(new)

    def _converted(self, new: Result) -> Result:
        copy = self.builder.copy(whole(new.node), new.dtype, new.node.location, new.node.rank)
        return replace(new, node=copy.node)

    def _reduce(self, node: Reduce) -> Value:
        rank = node.rank + len(node.extents)
        source = self.solid(self.seen(node.source, rank), node, rank)
        if not isinstance(source.node, Op) or not source.is_translation(rank):
            found = self._contiguous(source, node)
            source = found if isinstance(found, Access) else source
        return self.builder.reduction(node.operation, source, node.extents, node.dtype, node.location)

    def _contiguous(self, value: Value, node: Node) -> Value:
        if isinstance(value, int) or not value.matrix or is_contiguous(value):
            if isinstance(value, Access) and not value.matrix:
                rank = node.rank + (len(node.extents) if isinstance(node, Reduce) else 0)
                return self._copied(value, node, rank) if rank else value
            return value
        return self._copied(value, node, len(value.matrix[0]))

    def _copied(self, value: Access, node: Node, rank: int) -> Value:
        used = [d for d in range(rank) if d == rank - 1 or any(row[d] for row in value.matrix)]
        if not used:
            return value
        part = Access(value.node, tuple(tuple(row[d] for d in used) for row in value.matrix), value.offset)
        copy = self.builder.copy(part, value.node.dtype, node.location, len(used))
        choice = tuple(tuple(int(d == u) for d in range(rank)) for u in used)
        return compose(copy, choice, (0,) * len(used), rank)


def is_contiguous(access: Access) -> bool:
    """Whether the consumer's innermost dimension steps through the node's innermost one by one."""
    if not access.matrix or not access.matrix[0]:
        return True
    return access.matrix[-1][-1] == 1 and not any(row[-1] for row in access.matrix[:-1])
