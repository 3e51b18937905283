"""Allocation of the scratchpad: virtual registers by reference counts, placed first-fit.

A buffer is taken when its node is computed and given back after the last use. An operation may write over an operand
that it is the last to need. Arrays that move while tiles are computed have two buffers, used in turn, or one that
takes the parts of all tiles side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compiler.bind.vector.access import Access
from compiler.bind.vector.emit import Placement
from compiler.bind.vector.graph import MULTIPLY_ADDS, Node, Op
from compiler.bind.vector.layout import Layout
from compiler.bind.vector.order import Order
from compiler.bind.vector.sizes import Sizes
from compiler.bind.vector.translate import Graph

__all__ = ["Allocation", "allocate"]

ALIGNMENT = 32
"""Of buffers in bytes, so that transfers move whole beats; those that are smaller are aligned to words."""
ROWS = 8
"""Rows of the scratchpad from which on a buffer begins in a row: wavefronts that write whole rows leave more of the
scratchpad's ports to transfers."""


@dataclass
class Allocation:
    """`placement` of everything; `registers`: the most virtual registers in use at once, and `live` the most bytes in
    them at once; `bytes`: the highest address used."""

    placement: Placement
    registers: int
    live: int
    bytes: int


def _rounded(value: int, unit: int) -> int:
    return -(-value // unit) * unit


@dataclass
class _Memory:
    """First-fit with a list of used ranges, in a scratchpad with rows of `row` bytes."""

    row: int
    used: list[tuple[int, int]] = field(default_factory=list)
    top: int = 0

    def take(self, size: int) -> int:
        alignment = ALIGNMENT if size >= ALIGNMENT else 4
        if size >= ROWS * self.row:
            alignment = max(alignment, self.row)
        size = _rounded(size, 4)
        place = 0
        for start, end in self.used:
            if start - place >= size:
                break
            place = _rounded(end, alignment)
        self._insert(place, size)
        return place

    def _insert(self, place: int, size: int) -> None:
        self.used.append((place, place + size))
        self.used.sort()
        self.top = max(self.top, place + size)

    def free(self, place: int) -> None:
        self.used = [r for r in self.used if r[0] != place]

    def shrink(self, place: int, size: int) -> None:
        """Only the first `size` bytes of the range at `place` stay in use."""
        self.free(place)
        self._insert(place, _rounded(size, 4))


class _Allocator:
    def __init__(self, graph: Graph, sizes: Sizes, layout: Layout, order: Order, scratch: dict[Node, int],
                 places: Mapping[Node, int | Sequence[int]], tiles: int, row: int) -> None:
        self.sizes = sizes
        self.layout = layout
        self.order = order
        self.scratch = scratch
        self.memory = _Memory(row)
        self.addresses: dict[Node, tuple[int, ...]] = {}
        self.scratch_addresses: dict[Node, int] = {}
        self.live: dict[Node, int] = {}
        self.bytes: dict[Node, int] = {}
        self.most = 0
        self.most_bytes = 0
        self.fixed: set[Node] = set()
        self.last = self._last_uses()
        for owner, copies in places.items():
            self._fix(owner, copies, tiles > 1)
        for result in graph.results:
            if tiles > 1:
                self._fix(layout.root(result.node), 2, True)
            self.fixed.add(layout.root(result.node))

    def _last_uses(self) -> dict[Node, int]:
        last: dict[Node, int] = {}
        for node, position in self.order.last_use.items():
            owner = self.layout.root(node)
            last[owner] = max(last.get(owner, -1), position)
        return last

    def _fix(self, owner: Node, copies: int | Sequence[int], forever: bool) -> None:
        if owner in self.addresses:
            return
        size = self.layout.buffers[owner].bytes
        if isinstance(copies, int):
            self.addresses[owner] = tuple(self.memory.take(size) for _ in range(copies))
            self.live[owner] = copies
        else:
            first = self.memory.take(size + max(copies))
            self.addresses[owner] = tuple(first + offset for offset in copies)
            self.live[owner] = 1
            self.bytes[owner] = size + max(copies)
        self._count()
        if forever:
            self.fixed.add(owner)

    def _count(self, scratch: int = 0) -> None:
        """Takes note of what is in use now, beside `scratch` bytes of a reduction."""
        self.most = max(self.most, sum(self.live.values()) + (scratch > 0))
        held = sum(self.bytes.get(owner, self.layout.buffers[owner].bytes * copies)
                   for owner, copies in self.live.items())
        self.most_bytes = max(self.most_bytes, held + scratch)

    def run(self) -> Allocation:
        for position, node in enumerate(self.order.nodes):
            owner = self.layout.root(node)
            if owner not in self.addresses:
                self._take(node, owner, position)
            if node in self.scratch:
                place = self.memory.take(self.scratch[node])
                self.scratch_addresses[node] = place
                self._count(self.scratch[node])
                self.memory.free(place)
            self._release(position)
        placement = Placement(self.addresses, self.scratch_addresses)
        return Allocation(placement, self.most, self.most_bytes, self.memory.top)

    def _take(self, node: Node, owner: Node, position: int) -> None:
        size = self.layout.buffers[owner].bytes
        for source in self._replaceable(node, owner, position):
            (place,) = self.addresses[source]
            self.memory.shrink(place, size)
            self.live.pop(source)
            self.addresses[owner] = (place,)
            self.live[owner] = 1
            return
        self.addresses[owner] = (self.memory.take(size),)
        self.live[owner] = 1
        self._count()

    def _replaceable(self, node: Node, owner: Node, position: int) -> list[Node]:
        """Owners of operands that `node` may write over: nobody needs them later, and no element is written before
        it has been read."""
        one_instruction = isinstance(node, Op) and node.operation not in (*MULTIPLY_ADDS, "where")
        if not one_instruction or owner is not node or node.rank > 2:
            return []
        found = []
        for access in node.accesses:
            source = self.layout.root(access.node)
            free = source in self.live and source not in self.fixed and self.last[source] <= position
            if free and len(self.addresses[source]) == 1 and self._below(node, access, source):
                found.append(source)
        return found

    def _below(self, node: Node, access: Access, source: Node) -> bool:
        """Whether every result would lie at or below the operand's element, at the same steps or smaller ones."""
        mine, theirs = self.layout.buffers[node], self.layout.buffers[source]
        if not access.is_translation(node.rank) or mine.bytes > theirs.bytes:
            return False
        return mine.strides == theirs.strides and mine.size == theirs.size

    def _release(self, position: int) -> None:
        for owner in [o for o in self.live if o not in self.fixed and self.last.get(o, -1) <= position]:
            for place in self.addresses[owner]:
                self.memory.free(place)
            self.live.pop(owner)


def allocate(graph: Graph, sizes: Sizes, layout: Layout, order: Order, scratch: dict[Node, int],
             places: Mapping[Node, int | Sequence[int]], tiles: int, row: int) -> Allocation:
    """Addresses for a program of `tiles` tiles in a scratchpad with rows of `row` bytes; `places` says how many buffers
    arrays, and values that later tiles need, have, or how far from the first tile's bytes those of every tile lie in
    one buffer for all."""
    return _Allocator(graph, sizes, layout, order, scratch, places, tiles, row).run()
