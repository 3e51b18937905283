"""Phases: parts of a program that go through main memory one after the other.

Within a phase every node is computed tile by tile along with the results. A node that is not read tile by tile
(transposed, with steps, repeated along a dimension, extended by its own far end) is stored as a temporary array first.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from compiler.bind.vector.access import Access, Box, compose, identity
from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.graph import Extend, Leaf, Node, Op, Reduce, Stretch, Value, nodes_of
from compiler.bind.vector.ir import MemoryArray
from compiler.bind.vector.layout import extents, regions
from compiler.bind.vector.rewrite import Rewriter
from compiler.bind.vector.translate import Graph, Result

__all__ = ["Phase", "split"]


@dataclass
class Phase:
    """Results of one shape that are computed together; `temporaries` are those of them that later phases read."""

    graph: Graph
    temporaries: list[MemoryArray] = field(default_factory=list)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of every result."""
        return self.graph.results[0].shape


def _kept(nodes: list[Node]) -> dict[Node, int]:
    """How many leading dimensions of each node's space are divided into tiles (those of a sum's terms are not)."""
    kept = {n: n.rank for n in nodes}
    for node in nodes:
        if isinstance(node, Reduce) and node.source.is_translation(node.source.node.rank):
            kept[node.source.node] = min(kept[node.source.node], node.rank)
    return kept


def _tiled(access: Access, kept: int) -> bool:
    """Whether tiles of the consumer need tiles of the node."""
    for row in access.matrix:
        own = [c for c in row[:kept] if c]
        if len(own) > 1 or any(c != 1 for c in own):
            return False
    covered = all(any(row[k] for row in access.matrix) for k in range(kept))
    return covered or _trivial(access.node)


def _trivial(node: Node) -> bool:
    """A number repeated along one dimension: cheaper made again than stored."""
    if not isinstance(node, Op) or node.operation != "copy" or node.rank > 1:
        return False
    (source,) = node.operands
    return isinstance(source, int) or (isinstance(source.node, Leaf) and not any(any(r) for r in source.matrix))


def _is_fused_extension(node: Extend) -> bool:
    """Whether all that lies outside is one number, and the inside is computed in the same phase."""
    kinds = {b for b in node.boundaries if b is not None}
    return len(kinds) == 1 and next(iter(kinds)).kind == "default" and all(b is not None for b in node.boundaries)


def _barriers(graph: Graph) -> list[Node]:
    """Nodes that have to be stored, sources first. Of an extension it is what is extended."""
    nodes = list(nodes_of([r.node for r in graph.results]))
    kept = _kept(nodes)
    found: dict[Node, None] = {}
    for node in nodes:
        if isinstance(node, Extend):
            if not _is_fused_extension(node):
                found[node] = None
            continue
        for access in node.accesses:
            plain = isinstance(access.node, Leaf)
            if plain or (isinstance(node, Reduce) and access.is_translation(access.node.rank)):
                continue
            if not _tiled(access, kept[node]) or isinstance(node, Stretch):
                found[access.node] = None
    return [n for n in nodes if n in found]


class _Substitution(Rewriter):
    """Replaces stored nodes by leaves."""

    def __init__(self, graph: Graph, builder: GraphBuilder, stored: dict[Node, Access]) -> None:
        super().__init__(graph, builder)
        self.stored = stored

    def visit(self, node: Node) -> Value:
        return self.stored[node] if node in self.stored else self.same(node)


def split(graph: Graph, builder: GraphBuilder) -> list[Phase]:
    """Phases in order. A program without barriers and with results of one shape is a single phase."""
    barriers = _barriers(graph)
    boxes = _boxes(graph)
    stored: dict[Node, Access] = {}
    pending: list[tuple[Result, MemoryArray | None]] = []
    for number, node in enumerate(barriers):
        result = _stored_result(node, boxes, f"temporary_{number}")
        memory = MemoryArray(result.name, "temporary", str(result.dtype), result.shape,
                             int(np.prod(result.shape, dtype=np.int64)) * result.dtype.itemsize)
        pending.append((_rebuilt(result, stored, builder), memory))
        leaf = builder.leaf(result.name, result.shape, result.dtype, node.low, node.high, node.location)
        back = tuple(-s for s in result.starts)
        value = compose(leaf, identity(node.rank), back, node.rank)
        if isinstance(node, Extend):
            inside = builder.extension(leaf, result.shape, node.dtype, node.boundaries, node.location)
            value = compose(inside, identity(node.rank), back, node.rank)
        stored[node] = value
    pending += [(_rebuilt(r, stored, builder), None) for r in graph.results]
    return _grouped(pending, graph.constants)


def _boxes(graph: Graph) -> dict[Node, Box]:
    """What the program needs of every node."""
    found: dict[Node, Box] = {}
    for result in graph.results:
        part = regions(Graph([result]), tuple((0, n) for n in result.shape), clip=True)
        for node, box in part.items():
            old = found.get(node, box)
            found[node] = tuple((min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(old, box, strict=True))
    return found


def _stored_result(node: Node, boxes: dict[Node, Box], name: str) -> Result:
    if isinstance(node, Extend):
        return Result(name, node.source, node.starts, node.shape, node.source.dtype)
    box = boxes[node]
    return Result(name, node, tuple(low for low, _ in box), extents(box), node.dtype)


def _rebuilt(result: Result, stored: dict[Node, Access], builder: GraphBuilder) -> Result:
    """`result` computed from what is stored; a leaf becomes a copy."""
    new = _Substitution(Graph([result]), builder, stored).run().results[0] if stored else result
    if not isinstance(new.node, Leaf):
        return new
    rank = new.node.rank
    copy = builder.copy(Access(new.node, identity(rank), (0,) * rank), new.dtype, new.node.location, rank)
    starts = tuple(s + o for s, o in zip(new.starts, (-o for o in copy.offset), strict=True))
    return Result(new.name, copy.node, starts, new.shape, new.dtype)


def _grouped(pending: list[tuple[Result, MemoryArray | None]], constants: dict[str, np.ndarray]) -> list[Phase]:
    """Results of one shape that do not wait for each other become one phase."""
    phases: list[Phase] = []
    made: dict[str, int] = {}
    for result, memory in pending:
        leaves = {n.name for n in nodes_of([result.node]) if isinstance(n, Leaf)}
        first = 1 + max((made[name] for name in leaves if name in made), default=-1)
        place = next((i for i in range(first, len(phases)) if phases[i].shape == result.shape), None)
        taken = place is not None and any(r.node is result.node for r in phases[place].graph.results)
        if place is None or taken:
            place = len(phases)
            phases.append(Phase(Graph([], constants)))
        phases[place].graph.results.append(result)
        if memory is not None:
            phases[place].temporaries.append(memory)
            made[result.name] = place
    return phases
