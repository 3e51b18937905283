"""How reductions are carried out: by the accumulator, by shifted sums and minima, or term by term.

The accumulator adds up one row per result and takes a cycle for every wavefront of the row. Where rows are short
against the lanes, or along the outer dimension, it is cheaper to add whole arrays: sliding sums and extrema by
doubling (S2n(i) = Sn(i) + Sn(i + n)), products of windows with constants term by term as multiply-adds. Extrema of
rows that are too long for the scratchpad begin with those of a few parts, element by element, until they are not.
"""

from __future__ import annotations

import itertools
from math import prod

from compiler.bind.vector.access import Access, compose, drop_dimensions, identity, whole
from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.graph import Leaf, Node, Op, Part, Reduce, Value, seen_from
from compiler.bind.vector.inlining import inlined
from compiler.bind.vector.instruction_combining import is_contiguous
from compiler.bind.vector.rewrite import Rewriter
from compiler.bind.vector.translate import Graph

__all__ = ["ReductionPass"]

_MOST_TERMS = 128
"""More instructions than this are not spent on one reduction term by term."""
_PARTS = 16
"""Parts of a row that are combined at once, at most."""
_BEAT = 32


class ReductionPass(Rewriter):
    """Replaces reductions that the accumulator would do badly, for a machine of `lanes`; splits too long ones.

    `room`: bytes that the operands of one result may take in the scratchpad.
    """

    def __init__(self, graph: Graph, builder: GraphBuilder, lanes: int, room: int) -> None:
        super().__init__(graph, builder)
        self.lanes = lanes
        self.room = room
        self._sums: set[Node] = set()

    def visit(self, node: Node) -> Value:
        if not isinstance(node, Reduce):
            return self.same(node)
        rank = node.rank + len(node.extents)
        source = self.solid(self.seen(node.source, rank), node, rank)
        value = self._lower(node, self.solid(_straight(source, rank, self.builder), node, rank))
        if isinstance(value, Access):
            self._sums.add(value.node)
        return value

    def _lower(self, node: Reduce, source: Access) -> Value:
        costs = {"accumulate": self._accumulate_cost(node, source), "slide": self._slide_cost(node, source),
                 "terms": self._term_cost(node, source)}
        best = min(costs, key=lambda k: costs[k])
        if best == "terms":
            return self._terms(node, source)
        if node.operation != "add" and self._too_long(node, source):
            return self._shortened(node, source)
        if best == "slide":
            return self._slide(node, source)
        if costs[best] == float("inf"):
            solid = self.builder.copy(source, source.node.dtype, node.location, node.rank + len(node.extents))
            return self._slide(node, solid)
        return self._accumulate(node, source)

    # Costs in wavefronts per result.

    def _accumulate_cost(self, node: Reduce, source: Access) -> float:
        if node.operation != "add" or not all(_innermost_step(a) for a in _read(node, source)):
            return float("inf")
        inner, terms = node.extents[-1], prod(node.extents)
        copies = sum(terms for a in _read(node, source) if any(any(r) for r in a.matrix) and not is_contiguous(a))
        return terms // inner * (-(-inner // self.lanes)) + len(node.extents) - 1 + copies

    def _slide_cost(self, node: Reduce, source: Access) -> float:
        axes = [_axis(source, node.rank + k) for k in range(len(node.extents))]
        if any(axis is None for axis in axes):
            return float("inf")
        steps = sum(_steps(n, node.operation) for n in node.extents)
        sliding = all(any(source.matrix[axis][:node.rank]) for axis in axes if axis is not None)
        # Along an axis of its own the first half-sum takes half the elements, and so on.
        work = steps if sliding else prod(node.extents) * (2 if isinstance(source.node, Op) else 1)
        return work / self.lanes * self._waste(source, sliding) + 0.01

    def _waste(self, source: Access, sliding: bool) -> float:
        """Idle lanes of a halving along the innermost dimension, where every row ends in a short vector."""
        inner = source.matrix[-1][-1] if source.matrix else 0
        return 1.0 if sliding or not inner else float(self.lanes)

    def _term_cost(self, node: Reduce, source: Access) -> float:
        count = prod(node.extents)
        if count > _MOST_TERMS or not isinstance(source.node, Op) or node.operation != "add" or not node.rank:
            return float("inf")
        if any(any(a.matrix) and not _along_rows(a, node.rank - 1) for a in _read(node, source)):
            return float("inf")
        scalar = any(isinstance(o, int) or _constant_per_term(o, node.rank, self.builder)
                     for o in _read_all(node, source))
        product = source.node.operation == "multiply"
        return count * (1 if product and scalar else 2) / self.lanes

    # Ways.

    def _accumulate(self, node: Reduce, source: Access) -> Value:
        """By the accumulator; in blocks if the operands of one result do not fit the scratchpad."""
        inner = node.extents[-1]
        if len(node.extents) > 1 and prod(node.extents) * 4 > self.room:
            part = self._accumulate_inner(node, source)
            rest = Reduce(0, node.rank, node.dtype, node.low, node.high, node.location, "add", part, node.extents[:-1])
            return self._lower(rest, part)
        block = max(2, self.room // 4)
        if inner > block and len(node.extents) == 1:
            return self._blocks(node, source, block)
        return self.builder.reduction("add", source, node.extents, node.dtype, node.location)

    def _accumulate_inner(self, node: Reduce, source: Access) -> Access:
        return self.builder.reduction("add", source, node.extents[-1:], node.dtype, node.location)

    def _blocks(self, node: Reduce, source: Access, block: int) -> Value:
        """Results of blocks, then of these, and the rest."""
        inner, rank = node.extents[-1], node.rank
        count = inner // block
        matrix = (*(tuple(int(i == j) for j in range(rank + 2)) for i in range(rank)), (*(0,) * rank, block, 1))
        blocks = compose(source, matrix, (0,) * (rank + 1), rank + 2)
        parts = self._row_results(node, self._pushed(blocks, rank + 2), rank + 1, block)
        total = self._reduced(node, parts, rank, (count,))
        if inner % block:
            offset = (*(0,) * rank, count * block)
            rest = compose(source, identity(rank + 1), offset, rank + 1)
            tail = self._row_results(node, rest, rank, inner % block)
            total = self.builder.operation(node.operation, (total, tail), node.dtype, node.location, rank)
        return total

    def _row_results(self, node: Reduce, source: Access, rank: int, length: int) -> Access:
        if node.operation == "add":
            return self.builder.reduction("add", source, (length,), node.dtype, node.location)
        return self.solid(self._reduced(node, source, rank, (length,)), node, rank)

    # Extrema of long rows. That some elements count twice does not matter.

    def _too_long(self, node: Reduce, source: Access) -> bool:
        """Whether what one result needs along the innermost dimension does not fit beside its halves."""
        axis = _axis(source, node.rank + len(node.extents) - 1)
        own = axis is None or not any(source.matrix[axis][:-1])
        return own and node.extents[-1] * source.node.dtype.itemsize > 2 * self.room

    def _shortened(self, node: Reduce, source: Access) -> Value:
        *outer, length = node.extents
        rank = node.rank + len(outer)
        axis = _axis(source, rank)
        if axis is not None and isinstance(source.node, Leaf) and self._plain(source.node):
            block = self._block(length, source.node.dtype.itemsize)
            parts = self._parts(node, source, axis, length, block)
            place = tuple(0 if i == axis else o for i, o in enumerate(source.offset))
            return self._reduced(node, Access(parts.node, source.matrix, place), node.rank, (*outer, block))
        if outer:
            inner = self.solid(self._reduced(node, source, rank, (length,)), node, rank)
            return self._reduced(node, inner, node.rank, tuple(outer))
        return self._blocks(node, source, max(2, self.room // 4))

    def _plain(self, leaf: Leaf) -> bool:
        return not any(leaf.boundaries) and leaf.name not in self.builder.constants

    def _block(self, length: int, size: int) -> int:
        """Elements of each of up to `_PARTS` parts of a row: whole beats, and no shorter than what fits."""
        count = min(_PARTS, -(-length * size // (2 * self.room)))
        unit = _BEAT // size
        return min(length - 1, -(-length // (count * unit)) * unit)

    def _parts(self, node: Reduce, source: Access, axis: int, length: int, block: int) -> Access:
        """The parts of all rows, combined element by element; the last one overlaps the one before."""
        leaf, start = source.node, source.offset[axis]
        assert isinstance(leaf, Leaf)
        whole = leaf.part or Part(leaf.shape, (0,) * leaf.rank, (1,) * leaf.rank)
        shape = (*leaf.shape[:axis], block, *leaf.shape[axis + 1:])
        total: Access | None = None
        for first in [*range(0, length - block, block), length - block]:
            moved = tuple(f + (start + first) * k * (i == axis)
                          for i, (f, k) in enumerate(zip(whole.first, whole.steps, strict=True)))
            part = self.builder.leaf(leaf.name, shape, leaf.dtype, leaf.low, leaf.high, leaf.location,
                                     variant=leaf.variant, part=Part(whole.shape, moved, whole.steps))
            total = part if total is None else self._combined(total, part, node)
        assert total is not None
        return total

    def _reduced(self, node: Reduce, source: Access, rank: int, extents: tuple[int, ...]) -> Value:
        """The same reduction of something else."""
        return self._lower(Reduce(0, rank, node.dtype, node.low, node.high, node.location, node.operation, source,
                                  extents), source)

    def _pushed(self, access: Access, rank: int) -> Access:
        """`access` with its map pushed through an operation to the operands."""
        if not isinstance(access.node, Op) or access.is_translation(rank):
            return access
        value = inlined(access, rank, self.builder)
        return access if isinstance(value, int) else value

    def _slide(self, node: Reduce, source: Access) -> Value:
        """Shifted copies combined by doubling, in the source's own space, one reduced dimension after the other."""
        for k, extent in reversed(list(enumerate(node.extents))):
            axis = _axis(source, node.rank + k)
            assert axis is not None
            base = whole(source.node)
            sliding = any(source.matrix[axis][:node.rank + k])
            total = (self._along if sliding else self._halved)(base, axis, extent, node)
            source = compose(total, source.matrix, source.offset, node.rank + k + 1)
            source = drop_dimensions(source, node.rank + k, (0,))
        return source

    def _along(self, base: Access, axis: int, extent: int, node: Reduce) -> Access:
        """`extent` successive elements along `axis`, combined."""
        if extent == 1:
            return base
        half = -(-extent // 2) if node.operation != "add" else extent // 2
        part = self._along(base, axis, half, node)
        total = self._combined(part, _moved(part, axis, extent - half if node.operation != "add" else half), node)
        if node.operation == "add" and extent % 2:
            total = self._combined(total, _moved(base, axis, extent - 1), node)
        return total

    def _halved(self, base: Access, axis: int, extent: int, node: Reduce) -> Access:
        """The first `extent` elements along `axis`, combined: the halves, then the halves of that."""
        rests: list[Access] = []
        while extent > 1:
            half = -(-extent // 2) if node.operation != "add" else extent // 2
            if 2 * half < extent:
                rests.append(_moved(base, axis, extent - 1))
            base = self._combined(base, _moved(base, axis, extent - half if node.operation != "add" else half), node)
            extent = half
        for rest in rests:
            base = self._combined(base, rest, node)
        return base

    def _combined(self, a: Access, b: Access, node: Reduce) -> Access:
        value = self.builder.operation(node.operation, (a, b), node.dtype, node.location, a.node.rank)
        return self.solid(value, node, a.node.rank)

    def _terms(self, node: Reduce, source: Access) -> Value:
        """Term by term. Of a sum of other sums' results these are computed before, not again for every term: the terms
        of a product of products would be as many as those of all three together, in one expression."""
        total: Value = 0
        for index in itertools.product(*(range(n) for n in node.extents)):
            term = inlined(drop_dimensions(source, node.rank, index), node.rank, self.builder, self._sums)
            total = self.builder.operation("add", (total, term), node.dtype, node.location, node.rank)
        return total


def _moved(access: Access, axis: int, by: int) -> Access:
    offset = tuple(o + by * (i == axis) for i, o in enumerate(access.offset))
    return Access(access.node, access.matrix, offset)


def _steps(extent: int, operation: str) -> int:
    """Operations that doubling takes for `extent` elements."""
    if operation != "add":
        return (extent - 1).bit_length()
    return extent.bit_length() + extent.bit_count() - 2


def _axis(access: Access, dimension: int) -> int | None:
    """The dimension of the node along which `dimension` steps one by one, if it is that simple."""
    column = [row[dimension] for row in access.matrix]
    return column.index(1) if sorted(column)[-1:] == [1] and sum(map(abs, column)) == 1 else None


def _read(reduction: Reduce, source: Access) -> list[Access]:
    return [o for o in _read_all(reduction, source) if isinstance(o, Access)]


def _read_all(reduction: Reduce, source: Access) -> list[Value]:
    """What is read for an element of `source`: the operands of the operation that can be fused with the sum."""
    operation, rank = source.node, reduction.rank + len(reduction.extents)
    if isinstance(operation, Op) and source.is_translation(rank):
        return [compose(o, source.matrix, source.offset, rank) if isinstance(o, Access) else o
                for o in operation.operands]
    return [source]


def _innermost_step(access: Access) -> bool:
    """Whether the innermost dimension of the consumer can be made contiguous (a copy helps for any but none)."""
    return bool(access.matrix) and any(row[-1] for row in access.matrix)


def _along_rows(access: Access, dimension: int) -> bool:
    """Whether `dimension` of the consumer steps through the node's innermost dimension, or through none."""
    column = [row[dimension] for row in access.matrix]
    return column[-1] in (0, 1) and not any(column[:-1])


def _constant_per_term(value: Value, kept: int, builder: GraphBuilder) -> bool:
    """Whether an operand is a constant that does not depend on the dimensions that are kept."""
    if isinstance(value, int) or not isinstance(value.node, Leaf) or value.node.name not in builder.constants:
        return False
    return not any(any(row[:kept]) for row in value.matrix)


def _straight(access: Access, rank: int, builder: GraphBuilder) -> Value:
    """An operation that is seen with its dimensions in another order, as one in this order: it can then be carried out
    along with the sum, and its operands tell how they are read."""
    if not isinstance(access.node, Op) or access.is_translation(rank) or not _permutes(access, rank):
        return access
    operands = [_straight(o, rank, builder) if isinstance(o, Access) else o for o in seen_from(access)]
    return builder.operation(access.node.operation, operands, access.node.dtype, access.node.location, rank)


def _permutes(access: Access, rank: int) -> bool:
    """Whether the node has the consumer's dimensions in another order."""
    ones = [[d for d, c in enumerate(row) if c] for row in access.matrix]
    return sorted(d for row in ones for d in row) == list(range(rank)) == sorted(
        row[0] for row in ones if len(row) == 1) and all(c in (0, 1) for row in access.matrix for c in row)
