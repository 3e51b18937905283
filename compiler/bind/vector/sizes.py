"""Element sizes: every value is kept in as few bytes as its range or its uses need, and computed no wider than needed.

An instruction reads its vector operands at one size and writes at another; it executes at the larger. Sums, products
and logic need only as many bits as their result keeps; comparisons, minima, right shifts and the like need the true
values. Narrowing is done where that proves that no bit of a result changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from compiler.bind.vector.access import Access, compose, whole
from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.float_words import gives_floats, operand_bytes, result_bytes, takes_floats
from compiler.bind.vector.graph import (
    MULTIPLY_ADDS,
    Extend,
    Leaf,
    Node,
    Op,
    Reduce,
    Scatter,
    Stretch,
    Take,
    Value,
    nodes_of,
    tables_of,
)
from compiler.bind.vector.instruction_combining import is_contiguous
from compiler.bind.vector.rewrite import Rewriter, count_uses
from compiler.bind.vector.translate import Graph
from compiler.bind.vector.value_ranges import Range, range_of, wraps

__all__ = ["Form", "Sizes", "assign_sizes"]

SIZES = (1, 2, 4)
_MODULAR: dict[str, tuple[int, ...]] = {
    "add": (0, 1), "subtract": (0, 1), "multiply": (0, 1), "multiply_add": (0, 1, 2), "bitwise_and": (0, 1),
    "bitwise_or": (0, 1), "bitwise_xor": (0, 1), "left_shift": (0,), "convert": (0,), "copy": (0,), "where": (1, 2),
}
"""Operands of which only the low bits matter."""
_ACCUMULATED = frozenset({"add", "subtract", "multiply", "bitwise_and", "bitwise_or", "bitwise_xor", "minimum",
                          "maximum", "absolute", "abs_difference", "equal", "not_equal", "less", "less_equal",
                          "left_shift", "right_shift", "copy"})


@dataclass(frozen=True)
class Form:
    """How an operation is executed: size in bytes at which vector operands are read, and whether they are signed."""

    in_size: int
    signed: bool


@dataclass
class Sizes:
    """Bytes per element of every node, forms of operations and reductions, and operations that are carried out inside
    a reduction (they have no storage)."""

    bytes: dict[Node, int] = field(default_factory=dict)
    forms: dict[Node, Form] = field(default_factory=dict)
    fused: set[Node] = field(default_factory=set)


def range_bytes(limits: Range) -> int:
    """Bytes that hold every number of a range, signed or unsigned."""
    return next((s for s in SIZES if fits(limits, s, True) or fits(limits, s, False)), 4)


def fits(limits: Range, size: int, signed: bool) -> bool:
    """Whether a type of `size` bytes holds every number of a range."""
    bits = 8 * size
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return low <= limits[0] and limits[1] <= high


def shared_operands(node: Op) -> tuple[int, ...]:
    """Positions of operands that the instruction reads at its common in size."""
    if node.operation in MULTIPLY_ADDS:
        return (1, 2)
    return (0, 1) if node.operation == "where" else tuple(range(len(node.operands)))


class _Assignment:
    """The fixed point: sizes only grow."""

    def __init__(self, graph: Graph) -> None:
        roots = [r.node for r in graph.results]
        self.nodes = list(nodes_of(roots))
        self.uses = count_uses(roots)
        self.results = {r.node: r.dtype.itemsize for r in graph.results}
        self.fused = {n.source.node for n in self.nodes if isinstance(n, Reduce) and self._fusible(n)}
        self.size: dict[Node, int] = {}
        self.forms: dict[Node, Form] = {}
        self.widened: dict[tuple[Node, int], int] = {}
        self.fixed = tables_of(self.nodes) | {n.value.node for n in self.nodes if isinstance(n, Scatter)
                                              and isinstance(n.value, Access)}
        self.extended = {n.source: n for n in self.nodes if isinstance(n, Extend)}

    def _fusible(self, node: Reduce) -> bool:
        source = node.source.node
        if not isinstance(source, Op) or self.uses[source] > 1 or source.operation not in _ACCUMULATED:
            return False
        if not node.source.is_translation(source.rank) or not all(map(is_contiguous, source.accesses)):
            return False
        return not wraps(source) or source.dtype.itemsize >= node.dtype.itemsize

    # First sizes: what the range takes, or less if nobody needs more.

    def start(self) -> None:
        demand: dict[Node, int] = dict(self.results)
        for node in reversed(self.nodes):
            own = self._initial(node, demand.get(node, 1))
            self.size[node] = own
            for source, needed in self._demands(node, own):
                demand[source] = max(demand.get(source, 1), needed)

    def _initial(self, node: Node, demand: int) -> int:
        if isinstance(node, Leaf):
            return node.dtype.itemsize
        if node in self.results:
            return self.results[node]
        if isinstance(node, Take | Scatter) or node in self.fixed:
            return node.dtype.itemsize
        if isinstance(node, Op) and gives_floats(node.operation):
            return result_bytes(node.operation)
        if isinstance(node, Op) and node.operation == "multiply_high":
            return 4
        return min(range_bytes((node.low, node.high)), max(demand, 1))

    def _demands(self, node: Node, own: int) -> Iterable[tuple[Node, int]]:
        if isinstance(node, Take | Scatter):
            yield node.index.node, range_bytes((node.index.node.low, node.index.node.high))
            yield from ((a.node, own) for a in node.accesses if isinstance(node, Scatter) and a is not node.index)
        elif not isinstance(node, Op):
            for access in node.accesses:
                full = range_bytes((access.node.low, access.node.high))
                yield access.node, full if isinstance(node, Reduce) else own
        else:
            yield from self._operand_demands(node, own)

    def _operand_demands(self, node: Op, own: int) -> Iterable[tuple[Node, int]]:
        modular = _MODULAR.get(node.operation, ())
        for i, operand in enumerate(node.operands):
            if isinstance(operand, Access):
                full = (operand_bytes(node.operation) if takes_floats(node.operation)
                        else range_bytes((operand.node.low, operand.node.high)))
                yield operand.node, own if i in modular else full

    # Growing.

    def settle(self) -> None:
        while sum(self._step(node) for node in self.nodes):
            pass

    def _step(self, node: Node) -> bool:
        before = self.size[node]
        match node:
            case Op() if node not in self.fused:
                changed = self._settle_op(node, node, self.size[node], None)
            case Reduce():
                changed = self._settle_reduce(node)
            case Extend():
                changed = self._settle_extend(node)
            case Stretch():
                changed = self._grow(node, range_bytes((node.low, node.high)))
            case Take() | Scatter():
                index = node.index.node
                self.forms[node] = Form(self.size[index], index.low < 0)
                changed = False
            case _:
                changed = False
        return changed or self.size[node] != before

    def _settle_extend(self, node: Extend) -> bool:
        """Boundary values must fit, and source and result share memory."""
        wanted = max(self.size[node], self.size[node.source], range_bytes((node.low, node.high)))
        changed = self._grow(node, wanted)
        if self._is_fixed(node.source) or self.size[node.source] >= wanted:
            return changed
        return self._promote(node.source, wanted) or changed

    def _settle_reduce(self, node: Reduce) -> bool:
        source = node.source.node
        if source in self.fused:
            assert isinstance(source, Op)
            return self._settle_op(source, node, self.size[node], node)
        size = self.size[source]
        self.forms[node] = Form(size, source.low < 0)
        return False

    def _settle_op(self, node: Op, key: Node, out: int, reduce: Reduce | None) -> bool:
        """Find the least in size at which everything is right, and bring the operands to it."""
        shared = [i for i in shared_operands(node) if isinstance(node.operands[i], Access)]
        least = max([self._operand_size(node, i) for i in shared], default=1 if reduce is None else 4)
        if not shared:
            self.forms[key] = Form(out, node.low < 0)
            return self._settle_rest(node, out)
        if takes_floats(node.operation):
            least = max(least, operand_bytes(node.operation))
        elif node.operation == "multiply_high" and out < 4:
            least = 4
        for size in (s for s in SIZES if s >= least):
            for signed in (False, True):
                if self._valid(node, size, out, signed, reduce):
                    self.forms[key] = Form(size, signed)
                    changed = [self._bring(node, i, size) for i in shared]
                    return any(changed) | self._settle_rest(node, out)
        raise VectorTargetError(f"{node.location}: unsupported operation: {node.operation} of operands whose ranges "
                                "no type of 32 bits holds")

    def _settle_rest(self, node: Op, out: int) -> bool:
        """The accumulator of a multiply-add lies where its result goes; so may the rest of a select."""
        if node.operation in MULTIPLY_ADDS:
            if not isinstance(node.operands[0], Access):
                return False
            size = self._operand_size(node, 0)
            if size < out:
                return self._bring(node, 0, out)
            if size > out and not wraps(node) and node not in self.results and not self._is_fixed(node):
                return self._grow(node, size)
        return False

    def _valid(self, node: Op, size: int, out: int, signed: bool, reduce: Reduce | None) -> bool:
        modular = _MODULAR.get(node.operation, ())
        kept = out if reduce is None else size
        for i in shared_operands(node):
            operand = node.operands[i]
            width = size if isinstance(operand, Access) else max(size, kept)
            exact = fits(range_of(operand), width, signed)
            if isinstance(operand, int):
                if i not in modular and not _is_amount(node, i) and not exact:
                    return False
            elif not exact and (i not in modular or (size < kept)):
                return False
        if reduce is None:
            return True
        if node.operation == "multiply":
            return out <= size or all(fits(range_of(o), size, signed) for o in node.operands)
        sign = signed and node.operation not in ("absolute", "abs_difference")
        return out <= size or fits((node.low, node.high), size, sign)

    def _operand_size(self, node: Op, index: int) -> int:
        operand = node.operands[index]
        assert isinstance(operand, Access)
        return max(self.size[operand.node], self.widened.get((node, index), 0))

    def _bring(self, node: Op, index: int, size: int) -> bool:
        if self._operand_size(node, index) >= size:
            return False
        operand = node.operands[index]
        assert isinstance(operand, Access)
        if self._promotable(operand.node, size):
            return self._promote(operand.node, size)
        self.widened[node, index] = size
        return True

    def _promotable(self, node: Node, size: int) -> bool:
        if isinstance(node, Extend | Stretch) or node in self.results or node in self.extended or self._is_fixed(node):
            return False
        if isinstance(node, Op):
            if gives_floats(node.operation):
                return False
            return not wraps(node) and (node.operation != "copy" or self.uses[node] == 1)
        return size <= node.dtype.itemsize

    def _is_fixed(self, node: Node) -> bool:
        """Whether the elements have the size of the array that they come from."""
        return isinstance(node, Leaf | Take | Scatter) or node in self.fixed

    def _promote(self, node: Node, size: int) -> bool:
        return self._grow(node, size)

    def _grow(self, node: Node, size: int) -> bool:
        if self.size[node] >= size:
            return False
        self.size[node] = size
        return True


def _is_amount(node: Op, index: int) -> bool:
    return node.operation in ("left_shift", "right_shift") and index == 1


class _WidenPass(Rewriter):
    """Puts the copies to a wider size into the graph, and carries the sizes over to the new nodes."""

    def __init__(self, graph: Graph, builder: GraphBuilder, found: _Assignment) -> None:
        super().__init__(graph, builder)
        self.found = found
        self.sizes = Sizes()

    def visit(self, node: Node) -> Value:
        value = self._widened(node) if isinstance(node, Op) else self.same(node)
        if isinstance(value, Access):
            new = value.node
            self.sizes.bytes[new] = max(self.found.size[node], self.sizes.bytes.get(new, 0))
            if node in self.found.forms:
                self.sizes.forms[new] = self.found.forms[node]
            if node in self.found.fused:
                self.sizes.fused.add(new)
        return value

    def _widened(self, node: Op) -> Value:
        operands = [self._widen(self.seen(o, node.rank), self.found.widened.get((node, i)))
                    for i, o in enumerate(node.operands)]
        return self.builder.operation(node.operation, operands, node.dtype, node.location, node.rank)

    def _widen(self, value: Value, size: int | None) -> Value:
        if size is None or isinstance(value, int):
            return value
        node = value.node
        kind = np.dtype(f"{'i' if node.low < 0 else 'u'}{size}")
        copy = self.builder.copy(whole(node), kind, node.location, node.rank)
        self.sizes.bytes[copy.node] = size
        self.sizes.forms[copy.node] = Form(self.found_size(node), node.low < 0)
        return compose(copy, value.matrix, value.offset, len(value.matrix[0]) if value.matrix else 0)

    def found_size(self, node: Node) -> int:
        """Size of a node of the new graph."""
        return self.sizes.bytes[node]


def assign_sizes(graph: Graph, builder: GraphBuilder) -> tuple[Graph, Sizes]:
    """The graph with copies where operands of one operation differ in size, and all sizes."""
    found = _Assignment(graph)
    found.start()
    found.settle()
    rewriter = _WidenPass(graph, builder, found)
    return rewriter.run(), rewriter.sizes
