"""Phases: parts of a program that go through main memory one after the other.

Within a phase every node is computed tile by tile along with the results. A node that is not read tile by tile
(transposed, with steps, repeated along a dimension, extended by its own far end) is stored as a temporary array first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import networkx as nx
import numpy as np

from compiler.bind.vector.access import Access, Box, compose, identity, whole
from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.graph import Extend, Leaf, Node, Op, Reduce, Scatter, Stretch, Take, Value, nodes_of
from compiler.bind.vector.ir import MemoryArray
from compiler.bind.vector.layout import extents, regions
from compiler.bind.vector.rewrite import Rewriter
from compiler.bind.vector.translate import Graph, Result

__all__ = ["Phase", "is_cut_by_dimension", "split", "with_variants"]


@dataclass
class Phase:
    """Results of one shape that are computed together; `temporaries` are those of them that later phases read."""

    graph: Graph
    temporaries: list[MemoryArray] = field(default_factory=list)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of every result."""
        return self.graph.results[0].shape


class _Pending(NamedTuple):
    """A result; whether later phases read it, and the temporary array that it is stored to if it is no output."""

    result: Result
    is_read: bool = False
    memory: MemoryArray | None = None


Vector = tuple[int, ...]
"""How an index moves with the tile: a coefficient per dimension of the results."""
TileMap = tuple[Vector, ...]
"""A vector per dimension of a node."""


def _seen_through(access: Access, consumer: TileMap, rank: int) -> TileMap:
    """The tile map of what a consumer with this map reads."""
    return tuple(tuple(sum(c * v[t] for c, v in zip(row, consumer, strict=True)) for t in range(rank))
                 for row in access.matrix)


def _reads(node: Node, own: TileMap, rank: int) -> list[tuple[Access, TileMap]]:
    """The accesses of a node with the tile maps that they ask for. Stretching divides: marked by coefficients that
    nothing else has."""
    if isinstance(node, Reduce):
        own = (*own, *((0,) * rank for _ in node.extents))
    if isinstance(node, Stretch):
        own = tuple(tuple(c << 20 + f if f > 1 else c for c in v) for v, f in zip(own, node.factors, strict=True))
    if isinstance(node, Take):
        # Every tile reads the whole table.
        return [(node.table, ((0,) * rank,)), (node.index, _seen_through(node.index, own, rank))]
    if isinstance(node, Scatter):
        return [(access, ((0,) * rank,) * access.node.rank) for access in node.accesses]
    return [(access, _seen_through(access, own, rank)) for access in node.accesses]


def _storable(node: Node, access: Access, wanted: TileMap, rank: int) -> bool:
    """Whether tiles of the consumer, `node`, need tiles of what it accesses that are far from tiles, or all of it; what
    a scatter needs all of is of no use but for it."""
    if isinstance(access.node, Scatter):
        return True
    if isinstance(node, Scatter):
        return False
    if any(sum(c != 0 for c in v) > 1 or min(v, default=0) < 0 or max(v, default=0) >= 1 << 20 for v in wanted):
        return True
    covered = all(any(v[t] for v in wanted) for t in range(rank))
    return not covered and not _trivial(access.node)


def _trivial(node: Node) -> bool:
    """A number repeated along one dimension, or an array narrowed: cheaper made again than stored."""
    if not isinstance(node, Op) or node.operation != "copy":
        return False
    (source,) = node.operands
    if isinstance(source, Access) and isinstance(source.node, Leaf) and source.is_translation(node.rank):
        return True
    if node.rank > 1:
        return False
    return isinstance(source, int) or (isinstance(source.node, Leaf) and not any(any(r) for r in source.matrix))


def _tile_maps(roots: list[Node], stop: set[Node]) -> tuple[dict[Node, list[TileMap]], list[Node]]:
    """The different tile maps that nodes are read with, and the nodes that have to be stored for that reason."""
    rank = roots[0].rank
    maps: dict[Node, list[TileMap]] = {}
    stored: list[Node] = []
    for root in roots:
        maps.setdefault(root, [identity(rank)])
    ends = stop.difference(roots)
    for node in reversed(list(nodes_of(roots, ends))):
        if node not in maps or node in ends:
            continue
        if node in stored or (len(maps[node]) > 1 and not isinstance(node, Leaf)):
            if node not in stored:
                stored.append(node)
            continue
        if isinstance(node, Extend) and not node.is_fused:
            stored.append(node)
            continue
        for access, wanted in _reads(node, maps[node][0], rank):
            known = maps.setdefault(access.node, [])
            if wanted not in known:
                known.append(wanted)
            leaf = isinstance(access.node, Leaf) or access.node in stop
            if not leaf and _storable(node, access, wanted, rank) and access.node not in stored:
                stored.append(access.node)
    return maps, stored


def is_cut_by_dimension(graph: Graph, moving: Sequence[int]) -> bool:
    """Whether, as tiles move along the dimensions `moving`, all nodes move forwards, as fast for all that read them,
    and each dimension of those that end somewhere moves with one of them at most."""
    maps, _ = _tile_maps([result.node for result in graph.results], set())
    extended = any(isinstance(node, Extend) for node in maps)
    for node, found in maps.items():
        seen = {tuple(tuple(v[t] for t in moving) for v in tile_map) for tile_map in found}
        ends = extended or (isinstance(node, Leaf) and any(node.boundaries))
        most = 1 if ends else len(moving)
        if len(seen) > 1 or any(sum(c != 0 for c in v) > most or min(v, default=0) < 0 for v in next(iter(seen))):
            return False
    return True


def _barriers(graph: Graph, spilled: tuple[Node, ...]) -> list[Node]:
    """Nodes that have to be stored, sources first. Of an extension it is what is extended."""
    found: set[Node] = set(spilled)
    waiting = [*(r.node for r in graph.results), *spilled]
    while waiting:
        root = waiting.pop()
        start = [root.source] if isinstance(root, Extend) and root in found else [root]
        _, stored = _tile_maps(start, found)
        fresh = [n for n in stored if n not in found and n is not start[0]]
        if isinstance(start[0], Extend) and start[0] in stored and start[0] not in found:
            fresh.append(start[0])
        if fresh:
            found.update(fresh)
            waiting += [root, *fresh]
    return [n for n in nodes_of([r.node for r in graph.results]) if n in found]


class _Substitution(Rewriter):
    """Replaces stored nodes by leaves."""

    def __init__(self, graph: Graph, builder: GraphBuilder, stored: dict[Node, Value]) -> None:
        super().__init__(graph, builder, stored)
        self.stored = stored

    def visit(self, node: Node) -> Value:
        return self.stored[node] if node in self.stored else self.same(node)


def split(graph: Graph, builder: GraphBuilder, spilled: tuple[Node, ...] = (),
          prefix: str = "temporary") -> list[Phase]:
    """Phases in order. A program without barriers and with results of one shape is a single phase.

    `spilled` nodes are stored in any case; names of temporary arrays begin with `prefix`.
    """
    barriers = _barriers(graph, spilled)
    rounds = _rounds_of_scalars(barriers)
    boxes = _boxes(graph)
    outputs = _whole_outputs(graph)
    stored: dict[Node, Value] = {}
    pending: list[_Pending] = []
    done: list[Result] = []
    for number, node in enumerate(barriers):
        if node not in boxes:
            # Nothing but what lies outside an extension is read: any number will do.
            stored[node] = 0
            continue
        result = _stored_result(node, boxes, f"{prefix}_{number}")
        memory = MemoryArray.of(result.name, "temporary", result.shape, result.dtype)
        output = outputs.get(replace(result, name=""))
        if output is not None:
            result, memory = output, None
            done.append(output)
        together = {other: value for other, value in stored.items()
                    if node not in rounds or rounds.get(other) != rounds[node]}
        pending.append(_Pending(_rebuilt(result, together, builder), True, memory))
        leaf = builder.leaf(result.name, result.shape, result.dtype, node.low, node.high, node.location)
        back = tuple(-s for s in result.starts)
        value = compose(leaf, identity(node.rank), back, node.rank)
        if isinstance(node, Extend):
            inside = builder.extension(leaf, result.shape, node.dtype, node.boundaries, node.location)
            value = compose(inside, identity(node.rank), back, node.rank)
        stored[node] = value
    assembled = {memory.name: memory for memory in graph.temporaries}
    pending += [_Pending(_rebuilt(r, stored, builder), r.name in assembled, assembled.get(r.name))
                for r in graph.results if r not in done]
    return _grouped(_sources_first(pending), graph.constants)


def _whole_outputs(graph: Graph) -> dict[Result, Result]:
    """Results that are all of an output array, by what they are without a name: what is stored anyway need not be
    stored once more to be read."""
    temporaries = {memory.name for memory in graph.temporaries}
    return {replace(r, name=""): r for r in graph.results if r.memory is None and r.name not in temporaries}


def _rounds_of_scalars(barriers: Sequence[Node]) -> dict[Node, int]:
    """The scalars among `barriers`, each with the number of times that a stored array lies on a way to it: those of one
    round are computed together, none from another that has been stored and loaded again."""
    rounds: dict[Node, int] = {}
    ends = set(barriers)
    for node in barriers:
        sources = [other for other in nodes_of([node], ends - {node}) if other in rounds]
        rounds[node] = max((rounds[other] + (other.rank > 0 and not node.rank) for other in sources), default=0)
    return {node: number for node, number in rounds.items() if not node.rank}


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


def _rebuilt(result: Result, stored: dict[Node, Value], builder: GraphBuilder) -> Result:
    """`result` computed from what is stored; a leaf becomes a copy."""
    new = _Substitution(Graph([result]), builder, stored).run().results[0] if stored else result
    if not isinstance(new.node, Leaf):
        return new
    rank = new.node.rank
    copy = builder.copy(whole(new.node), new.dtype, new.node.location, rank)
    starts = tuple(s + o for s, o in zip(new.starts, (-o for o in copy.offset), strict=True))
    return replace(new, node=copy.node, starts=starts)


def _sources_first(pending: list[_Pending]) -> list[_Pending]:
    """The same results, each behind those that make the temporary arrays it reads: parts of assembled arrays are
    results of the program, and what is stored may be computed from them."""
    makers: dict[str, list[int]] = {}
    for number, one in enumerate(pending):
        if one.is_read:
            makers.setdefault(one.result.name, []).append(number)
    order = nx.DiGraph()
    order.add_nodes_from(range(len(pending)))
    for number, one in enumerate(pending):
        order.add_edges_from((maker, number) for name in _read(one.result) for maker in makers.get(name, ()))
    return [pending[number] for number in nx.lexicographical_topological_sort(order)]


def _read(result: Result) -> set[str]:
    """Names of the arrays that a result is computed from."""
    return {n.name for n in nodes_of([result.node]) if isinstance(n, Leaf)}


def _grouped(pending: list[_Pending], constants: dict[str, np.ndarray]) -> list[Phase]:
    """Results of one shape that do not wait for each other become one phase."""
    phases: list[Phase] = []
    made: dict[str, int] = {}
    for result, is_read, memory in pending:
        first = 1 + max((made[name] for name in _read(result) if name in made), default=-1)
        place = next((i for i in range(first, len(phases)) if _joins(phases[i], result)), None)
        if place is None:
            place = len(phases)
            phases.append(Phase(Graph([], constants)))
        phases[place].graph.results.append(result)
        if memory is not None and memory not in phases[place].temporaries:
            phases[place].temporaries.append(memory)
        if is_read:
            made[result.name] = max(place, made.get(result.name, 0))
    return phases


def _joins(phase: Phase, result: Result) -> bool:
    """Whether a result can be computed along with those of a phase."""
    nodes = [r.node for r in phase.graph.results]
    if phase.shape != result.shape or result.node in nodes:
        return False
    starts = phase.graph.results[0].starts
    if any(s != t for s, t in zip(starts, result.starts, strict=True)) and result.node.rank == 0:
        return False
    return not _tile_maps([*nodes, result.node], set())[1]


class _VariantPass(Rewriter):
    """An array that is read in different directions is loaded once for each."""

    def __init__(self, graph: Graph, builder: GraphBuilder) -> None:
        super().__init__(graph, builder)
        self.roots = [r.node for r in graph.results]
        self.maps, _ = _tile_maps(self.roots, set())
        self._wanted: dict[tuple[Access, bool], TileMap] = {}

    def visit(self, node: Node) -> Value:
        if isinstance(node, Leaf):
            return self.same(node)
        self._wanted = {(access, isinstance(node, Take) and not number): wanted
                        for number, (access, wanted) in enumerate(_reads(node, self.maps[node][0], self.roots[0].rank))}
        return self.same(node)

    def seen(self, value: Value, rank: int) -> Value:
        return self._varied(value, False) or super().seen(value, rank)

    def table(self, node: Take) -> Value:
        return self._varied(node.table, True) or super().table(node)

    def _varied(self, value: Value, is_table: bool) -> Access | None:
        """An access to an array with the variant that the node being rebuilt needs. It may be a table for itself."""
        if isinstance(value, int) or not isinstance(value.node, Leaf):
            return None
        leaf, wanted = value.node, self._wanted[value, is_table]
        other = self.builder.leaf(leaf.name, leaf.shape, leaf.dtype, leaf.low, leaf.high, leaf.location,
                                  leaf.boundaries, self.maps[leaf].index(wanted), leaf.part)
        return Access(other.node, value.matrix, value.offset)


def with_variants(graph: Graph, builder: GraphBuilder) -> Graph:
    """The graph of a phase with every array read in one direction only."""
    return _VariantPass(graph, builder).run()
