"""The first tile in two halves: the lanes begin with what has been loaded first, while the rest comes.

Only its first operations are cut, along the first dimension; what follows is done as a whole.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.bind.vector.access import Box
from compiler.bind.vector.emit import TileCode
from compiler.bind.vector.graph import Leaf, Node, Op
from compiler.bind.vector.ir import Statement
from compiler.bind.vector.layout import regions
from compiler.bind.vector.order import Order
from compiler.bind.vector.transfers import load

__all__ = ["EarlyStart", "early_start"]


@dataclass(frozen=True)
class EarlyStart:
    """`head`: operations of a tile that are cut; `cuts`: of them and of the arrays that they read, the first index of
    the second half."""

    head: tuple[Node, ...]
    cuts: dict[Node, int]

    def _halves(self, code: TileCode, node: Node) -> tuple[Box, Box]:
        (low, high), *others = code.regions[node]
        cut = self.cuts[node]
        return ((low, cut), *others), ((cut, high), *others)

    def load(self, code: TileCode, leaves: Sequence[Leaf]) -> list[Statement]:
        """All arrays of the tile, those that are cut first: first halves, then second ones."""
        boxes = [(leaf, self._halves(code, leaf)[half]) for half in range(2) for leaf in leaves if leaf in self.cuts]
        boxes += [(leaf, code.regions[leaf]) for leaf in leaves if leaf in code.regions and leaf not in self.cuts]
        return [s for leaf, box in boxes for s in load(code, leaf, box)]

    def compute(self, code: TileCode, order: Order) -> list[Statement]:
        """The work of the tile."""
        whole, found = code.regions, []
        for half in range(2):
            code.regions = whole | {node: self._halves(code, node)[half] for node in self.head}
            found += [s for node in self.head for s in code.node(node)]
            code.regions = whole
        rest = Order(tuple(n for n in order.nodes if n not in self.head), order.first_use, order.last_use)
        return [*found, *code.compute(rest)]


def early_start(code: TileCode, order: Order, most: int, unit: int) -> EarlyStart | None:
    """How to cut up to `most` operations of a tile in the middle (a multiple of `unit`); None if nothing is gained."""
    if not code.box:
        return None
    (low, high), *others = code.box
    middle = low + -(-(high - low) // (2 * unit)) * unit
    if middle >= high:
        return None
    part = regions(code.graph, ((low, middle), *others), clip=True)
    head: list[Node] = []
    for node in [n for n in order.nodes if n in code.regions][:most]:
        values = (node, *(a.node for a in node.accesses))
        cut = isinstance(node, Op) and all(_is_cut(code, part, value) for value in values)
        if not cut or not _apart(code, part, [*head, node]):
            break
        head.append(node)
    cuts = {n: part[n][0][1] for node in head for n in (node, *(a.node for a in node.accesses))}
    return EarlyStart(tuple(head), cuts) if head else None


def _is_cut(code: TileCode, part: dict[Node, Box], node: Node) -> bool:
    """Whether a value has rows in both halves. A number that was computed before, of no dimensions, has none."""
    if not part.get(node) or (isinstance(node, Leaf) and node.boundaries[0] is not None):
        return False
    (low, high), (first, cut) = code.regions[node][0], part[node][0]
    return first == low < cut < high


def _apart(code: TileCode, part: dict[Node, Box], head: Sequence[Node]) -> bool:
    """Whether no half of a value lies where there is another one: buffers are given back in the order of whole
    operations."""
    places: dict[Node, tuple[int, int]] = {}
    cuts: dict[Node, int] = {}
    for node in dict.fromkeys(n for h in head for n in (*(a.node for a in h.accesses), h)):
        owner = code.layout.root(node)
        first = code.address(node, [low for low, _ in code.places[node]])
        cut = code.address(node, [part[node][0][1], *(low for low, _ in code.places[node][1:])])
        if cuts.setdefault(owner, cut) != cut:
            return False
        places[owner] = (first, first + code.layout.buffers[owner].bytes)
    spans = sorted(places.values())
    return all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
