"""Plans: a phase with one shape of tiles, and the code that runs through the tiles with double buffers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from compiler.bind.vector.allocate import Allocation, allocate
from compiler.bind.vector.emit import Placement, TileCode, scratch_bytes
from compiler.bind.vector.graph import Leaf, nodes_of
from compiler.bind.vector.ir import Statement
from compiler.bind.vector.layout import Layout, make_layout, regions
from compiler.bind.vector.order import Order, evaluation_order
from compiler.bind.vector.phases import Phase
from compiler.bind.vector.shapes import Settings
from compiler.bind.vector.sizes import Sizes
from compiler.bind.vector.transfers import load, pad, store
from hw.vector_lanes.spec import VectorSpec

__all__ = ["PhasePlan", "make_plan"]


@dataclass
class PhasePlan:
    """A phase in tiles of `layout.tile`, with all addresses."""

    phase: Phase
    sizes: Sizes
    spec: VectorSpec
    layout: Layout
    order: Order
    allocation: Allocation
    moving: tuple[Leaf, ...]
    resident: tuple[Leaf, ...]

    @cached_property
    def origins(self) -> list[tuple[int, ...]]:
        """First element of every tile, in the order of work."""
        shape, tile = self.phase.shape, self.layout.tile
        return list(itertools.product(*(range(0, n, t) for n, t in zip(shape, tile, strict=True))))

    def tile(self, number: int, settings: Settings) -> TileCode:
        """The code maker of one tile."""
        return TileCode(self.phase.graph, self.sizes, self.layout, self.allocation.placement, settings,
                        self.spec.row_bytes, self.origins[number], self.phase.shape, number)

    def segments(self, settings: Settings) -> Iterator[list[Statement]]:
        """Statements in groups: what comes before the first tile, then one group per tile.

        While a tile is computed, the next one is loaded and the one before is stored.
        """
        current = self.tile(0, settings)
        yield [*self._load(current, self.resident), *self._load(current, self.moving),
               *self._pad(current, self.resident)]
        for number in range(len(self.origins)):
            following = self.tile(number + 1, settings) if number + 1 < len(self.origins) else None
            group: list[Statement] = []
            if following is not None:
                group += self._load(following, self.moving)
            group += self._pad(current, self.moving)
            group += current.compute(self.order)
            for result in self.phase.graph.results:
                group += store(current, result)
            yield group
            if following is not None:
                current = following

    def _load(self, code: TileCode, leaves: tuple[Leaf, ...]) -> list[Statement]:
        return [s for leaf in leaves if leaf in code.regions for s in load(code, leaf, code.regions[leaf])]

    def _pad(self, code: TileCode, leaves: tuple[Leaf, ...]) -> list[Statement]:
        return [s for leaf in leaves if leaf in code.regions for s in pad(code, leaf, code.regions[leaf])]


def make_plan(phase: Phase, sizes: Sizes, spec: VectorSpec, tile: tuple[int, ...]) -> PhasePlan:
    """A plan with tiles of that shape, whether it fits the scratchpad or not."""
    graph = phase.graph
    layout = make_layout(graph, sizes, tile, spec.row_bytes)
    count = 1
    for n, t in zip(phase.shape, tile, strict=True):
        count *= -(-n // t)
    leaves = [n for n in nodes_of([r.node for r in graph.results]) if isinstance(n, Leaf) and n in layout.buffers]
    resident, moving = _divide(phase, leaves, tile, count)
    weights = {n: b.bytes for n, b in layout.buffers.items()}
    order = evaluation_order(graph, weights, sizes.fused)
    scratch = _scratch(phase, sizes, spec, layout, order)
    copies = dict.fromkeys(resident, 1) | dict.fromkeys(moving, 1 if count == 1 else 2)
    allocation = allocate(graph, sizes, layout, order, scratch, copies, count)
    return PhasePlan(phase, sizes, spec, layout, order, allocation, tuple(moving), tuple(resident))


def _divide(phase: Phase, leaves: list[Leaf], tile: tuple[int, ...], count: int) -> tuple[list[Leaf], list[Leaf]]:
    """Arrays of which every tile needs the same, and the others."""
    if count == 1:
        return [], leaves
    start = tuple((0, t) for t in tile)
    last = tuple(((n - 1) // t * t, (n - 1) // t * t + t) for n, t in zip(phase.shape, tile, strict=True))
    first, final = (regions(phase.graph, box, clip=False) for box in (start, last))
    resident = [leaf for leaf in leaves if first.get(leaf) == final.get(leaf)]
    return resident, [leaf for leaf in leaves if leaf not in resident]


def _scratch(phase: Phase, sizes: Sizes, spec: VectorSpec, layout: Layout, order: Order) -> dict:
    owners = {layout.root(n): (0,) for n in layout.buffers}
    code = TileCode(phase.graph, sizes, layout, Placement(owners, {}), Settings(), spec.row_bytes,
                    (0,) * len(phase.shape), phase.shape, 0)
    return scratch_bytes(code, order.nodes)
