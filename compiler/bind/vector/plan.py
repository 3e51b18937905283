"""Plans: a phase with one shape of tiles, and the code that runs through the tiles with double buffers."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import gcd, lcm

from compiler.bind.vector.access import Box
from compiler.bind.vector.allocate import Allocation, allocate
from compiler.bind.vector.emit import Placement, TileCode, TileRegions, scratch_bytes
from compiler.bind.vector.epilogue_overlap import late_finish
from compiler.bind.vector.graph import Leaf, Node, Reduce, Scatter, nodes_of
from compiler.bind.vector.ir import Instruction, Setting, Statement
from compiler.bind.vector.layout import Layout, extents, group_period, make_layout, regions
from compiler.bind.vector.order import Order, evaluation_order
from compiler.bind.vector.phases import Phase, is_cut_by_dimension
from compiler.bind.vector.prologue_overlap import early_start
from compiler.bind.vector.shapes import Dimension, Operands, Settings, State, instructions
from compiler.bind.vector.sizes import Sizes
from compiler.bind.vector.tile_boxes import TileBoxes
from compiler.bind.vector.tile_loops import TileLevel, TileNest, runs_of
from compiler.bind.vector.tile_signature import Signature, code_signature, signature_of
from compiler.bind.vector.tiling import Tiling
from compiler.bind.vector.transfers import load, pad, pad_slabs, store
from compiler.bind.vector.translate import Graph
from hw.vector_lanes.isa import Mode, Op
from hw.vector_lanes.spec import VectorSpec

__all__ = ["PhasePlan", "PhaseWork", "make_plan"]

REMEMBERED = 32
"""Tiles of which regions and code are kept for other tilings."""


@dataclass
class PhasePlan:
    """A phase in tiles as `tiling` says, with all addresses.

    `unit`: elements of the first dimension of which tiles should be multiples: those of a wavefront, or one row.
    """

    phase: Phase
    sizes: Sizes
    spec: VectorSpec
    tiling: Tiling
    layout: Layout
    order: Order
    allocation: Allocation
    moving: tuple[Leaf, ...]
    resident: tuple[Leaf, ...]
    unit: int = 1
    _made: dict[Hashable, tuple[list[Statement], State]] = field(default_factory=dict)
    _regions: dict[Box, tuple[TileRegions, Signature]] = field(default_factory=dict)

    def with_tiling(self, tiling: Tiling) -> PhasePlan:
        """The plan of another tiling with the same buffers."""
        return replace(self, tiling=tiling)

    @cached_property
    def boxes(self) -> TileBoxes:
        """The elements of every tile, in the order of work."""
        return TileBoxes(self.phase.shape, self.tiling.tile, self.tiling.ends, self.unit)

    @property
    def steps(self) -> int:
        """Tiles."""
        return len(self.boxes)

    @property
    def period(self) -> int:
        """Tiles after which all buffers come round."""
        return lcm(*(len(a) for a in self.allocation.placement.addresses.values()))

    def tile(self, number: int, settings: Settings) -> TileCode:
        """The code maker of one tile."""
        box = self.boxes[number]
        found, _ = self._known_regions(box)
        return TileCode(self.phase.graph, self.sizes, self.layout, self.allocation.placement, settings,
                        self.spec.row_bytes, box, number, found)

    def segments(self, settings: Settings) -> Iterator[list[Statement]]:
        """Statements in groups: what comes before the first tile, then one group per tile.

        While a tile is computed, the next ones are loaded and the one before is stored.
        """
        work = self.work(settings)
        yield work.before()
        for number in range(self.steps):
            yield work.group(number)

    def work(self, settings: Settings) -> PhaseWork:
        """The groups of `segments` by number."""
        return PhaseWork(self, settings)

    def nest(self) -> TileNest | None:
        """The tiles as loops, each of them with its runs of tiles that are alike; None if they are not regular."""
        boxes = self.boxes
        moving = [dimension for dimension, count in enumerate(boxes.counts) if count > 1]
        if not boxes.is_regular or not moving or not is_cut_by_dimension(self.phase.graph, moving):
            return None
        runs = _runs(self.phase.graph, self.layout, boxes)
        # Columns are the outer loops, rows the innermost one.
        order = (*range(1, len(runs)), 0)
        levels, below = [], len(boxes)
        for dimension in order:
            below //= boxes.counts[dimension]
            levels.append(TileLevel(runs[dimension], self.period // gcd(self.period, below),
                                    -(-(self.tiling.ahead + 1) // below)))
        return TileNest(tuple(levels))

    def computed(self, code: TileCode) -> list[Statement]:
        """The instructions of a tile. Those of tiles that are alike are made once, and serve all tilings with the same
        buffers."""
        settings, turn = code.settings, code.turn % self.period
        key = (turn, settings.operands(), self._known_regions(code.box)[1])
        if key not in self._made:
            if len(self._made) >= REMEMBERED:
                self._made.clear()
            statements = list(code.compute(self.order))
            self._made[key] = (statements, settings.operands())
        statements, after = self._made[key]
        settings.restore(after)
        return statements

    def _known_regions(self, box: Box) -> tuple[TileRegions, Signature]:
        """The regions of a tile, and what it is like."""
        if box not in self._regions:
            if len(self._regions) >= REMEMBERED:
                self._regions.clear()
            found = TileRegions.of(self.phase.graph, self.layout.tile, box)
            self._regions[box] = found, code_signature(self.phase.graph, box, found, self._group_period)
        return self._regions[box]

    @cached_property
    def _group_period(self) -> int:
        return group_period(self.phase.graph)

    def _load_resident(self, first: TileCode) -> list[Statement]:
        """What any tile needs of these arrays: the first one may need less, or nothing, inside an extension."""
        return [s for leaf in self.resident for s in load(first, leaf, first.places[leaf])]

    def _pad_resident(self, first: TileCode, pads: _Pads) -> list[Statement]:
        return [s for leaf in self.resident for s in pads.statements(first, leaf, first.places[leaf])]

    def _load_next(self, tiles: _Tiles, number: int) -> list[Statement]:
        """The load that goes with the work of a tile."""
        later = number + self.tiling.ahead
        return self._load(tiles[later], self.moving, tiles.shared(later)) if later < self.steps else []

    def _moves(self, tiles: _Tiles, number: int) -> list[Statement]:
        """Transfers behind the work of a tile; those that wait for a place in the table do not hold up its
        instructions."""
        loads = self._load_next(tiles, number) if self.tiling.ahead > 1 else []
        return loads + [s for result in self.phase.graph.results for s in store(tiles[number], result)]

    def shared(self, code: TileCode, following: TileCode) -> dict[Leaf, int]:
        """For each array the first index (of its first dimension) that the next tile does not share with this one."""
        return self._overlap(code, following) if self.tiling.carries else {}

    def overlaps(self) -> bool:
        """Whether any tile shares rows with the one before: otherwise it makes no difference what `carry` is."""
        codes = (self.tile(number, Settings()) for number in range(self.steps))
        return any(self._overlap(code, following) for code, following in itertools.pairwise(codes))

    def _overlap(self, code: TileCode, following: TileCode) -> dict[Leaf, int]:
        found = {}
        for leaf in self.moving:
            here, there = code.regions.get(leaf), following.regions.get(leaf)
            if here and there and here[1:] == there[1:] and here[0][0] <= there[0][0] < here[0][1] < there[0][1]:
                found[leaf] = here[0][1]
        return found

    def _carry(self, code: TileCode, following: TileCode, shared: dict[Leaf, int]) -> Iterator[Statement]:
        for leaf, end in shared.items():
            box = ((following.regions[leaf][0][0], end), *following.regions[leaf][1:])
            corner = [low for low, _ in box]
            if following.address(leaf, corner) == code.address(leaf, corner):
                continue
            size = leaf.dtype.itemsize.bit_length() - 1
            dimensions = [Dimension(n, s, s, 0) for n, s in zip(extents(box), code.strides(leaf), strict=True)]
            operands = Operands(following.address(leaf, corner), code.address(leaf, corner), 0)
            yield from instructions(code.settings, Mode(Op.VMOV, False, size, size), operands, dimensions,
                                    code.row_bytes, gaps=True)

    def _fresh(self, code: TileCode, leaf: Leaf, shared: dict[Leaf, int]) -> Box:
        box = code.regions[leaf]
        return ((shared[leaf], box[0][1]), *box[1:]) if leaf in shared else box

    def _load(self, code: TileCode, leaves: tuple[Leaf, ...], shared: dict[Leaf, int]) -> list[Statement]:
        return [s for leaf in leaves if leaf in code.regions for s in load(code, leaf, self._fresh(code, leaf, shared))]

    def _pad(self, code: TileCode, leaves: tuple[Leaf, ...], shared: dict[Leaf, int], pads: _Pads) -> list[Statement]:
        return [s for leaf in leaves if leaf in code.regions
                for s in pads.statements(code, leaf, self._fresh(code, leaf, shared))]


class PhaseWork:
    """The statements of a plan's tiles; `settings` carries over from one to the next."""

    def __init__(self, plan: PhasePlan, settings: Settings) -> None:
        self._plan, self._settings, self._tiling = plan, settings, plan.tiling
        self._tiles, self._pads = _Tiles(plan, settings), _Pads()
        first = self._tiles[0]
        most = self._tiling.early
        self._early = early_start(first, plan.order, most, plan.unit) if most else None
        self._later: list[Statement] = []

    def before(self) -> list[Statement]:
        """What comes before the first tile."""
        plan, tiles, tiling, early = self._plan, self._tiles, self._tiling, self._early
        start = plan._load_resident(tiles[0])
        for number in range(min(tiling.ahead, plan.steps)):
            group = self._later if tiling.delay and number > 1 else start
            group += early.load(tiles[0], plan.moving) if early and not number else \
                plan._load(tiles[number], plan.moving, tiles.shared(number))
        return [*start, *plan._pad_resident(tiles[0], self._pads)]

    def group(self, number: int) -> list[Statement]:
        """The work of a tile, with the transfers beside it."""
        plan, tiles, tiling = self._plan, self._tiles, self._tiling
        current, following = tiles[number], number + 1 < plan.steps
        group = plan._load_next(tiles, number) if tiling.ahead == 1 else []
        group += plan._pad(current, plan.moving, tiles.shared(number), self._pads)
        # Before this tile's work: the next tile would wait for a copy that comes just before it.
        if following:
            group += plan._carry(current, tiles[number + 1], tiles.shared(number + 1))
        late = late_finish(current, plan.order, tiling.late * plan.unit) if tiling.late and not following else None
        if self._early and not number:
            work = self._early.compute(current, plan.order)
        else:
            work = list(current.compute(late.order)) if late else plan.computed(current)
        if tiling.delay:
            work = _among(work, plan._moves(tiles, number - 1) if number else self._later, tiling.delay, tiling.gap)
        group += work
        if late:
            group += late.finish(current)
        elif not tiling.delay or not following:
            group += plan._moves(tiles, number)
        tiles.keep(number - 1)
        return group

    def state(self) -> Hashable:
        """All that the statements of the next tile depend on besides the tiles around it."""
        return self._settings.state(), self._pads.state()


class _Tiles(dict[int, TileCode]):
    """The code makers of tiles by number, each made when it is asked for."""

    def __init__(self, plan: PhasePlan, settings: Settings) -> None:
        super().__init__()
        self._plan, self._settings = plan, settings

    def __missing__(self, number: int) -> TileCode:
        self[number] = made = self._plan.tile(number, self._settings)
        return made

    def shared(self, number: int) -> dict[Leaf, int]:
        """What a tile does not share with the one before; see `PhasePlan`."""
        return self._plan.shared(self[number - 1], self[number]) if number else {}

    def keep(self, first: int) -> None:
        """Tiles before that one are finished."""
        for number in [n for n in self if n < first]:
            del self[number]


def _among(work: Sequence[Statement], moves: Sequence[Statement], delay: int, gap: int) -> list[Statement]:
    """The transfers `moves` among `work`: the first one, with its settings, behind `delay` instructions, each of the
    others behind `gap` more."""
    found: list[Statement] = []
    rest, wait = deque(moves), delay
    for statement in work:
        found.append(statement)
        wait -= isinstance(statement, Instruction)
        while rest and not wait:
            while isinstance(rest[0], Setting):
                found.append(rest.popleft())
            found.append(rest.popleft())
            wait = gap
    return [*found, *rest]


class _Pads:
    """What lies outside arrays is written once per buffer where it stays the same: beside the columns."""

    def __init__(self) -> None:
        self._known: dict[tuple[Leaf, int], set[tuple[Box, int]]] = {}

    def state(self) -> Hashable:
        """What has been written."""
        return frozenset((place, frozenset(slabs)) for place, slabs in self._known.items())

    def statements(self, code: TileCode, leaf: Leaf, box: Box) -> Iterator[Statement]:
        """The slabs of `box` that are not there yet."""
        corner = [low for low, _ in code.places[leaf]]
        buffer = code.turn % len(code.placement.addresses[code.layout.root(leaf)])
        known = self._known.get((leaf, buffer), set())
        kept: set[tuple[Box, int]] = set()
        for slab in pad_slabs(leaf, box):
            place = tuple((a - c, b - c) for (a, b), c in zip(slab.box, corner, strict=True))
            value = slab.boundary.value if slab.boundary.kind == "default" and slab.axis else None
            if value is not None:
                kept.add((place, value))
            if value is None or (place, value) not in known:
                yield from pad(code, leaf, slab)
        self._known[leaf, buffer] = kept


def make_plan(phase: Phase, sizes: Sizes, spec: VectorSpec, tiling: Tiling) -> PhasePlan:
    """The plan of a tiling, whether it fits the scratchpad or not."""
    tile, ahead = tiling.tile, tiling.ahead
    graph = phase.graph
    unit = _unit(phase, sizes, spec)
    boxes = TileBoxes(phase.shape, tile, tiling.ends, unit)
    layout = make_layout(graph, sizes, tile, boxes, spec.row_bytes)
    leaves = [n for n in nodes_of([r.node for r in graph.results]) if isinstance(n, Leaf) and n in layout.buffers]
    resident, moving = _divide(phase, leaves, tile, boxes)
    weights = {n: b.bytes for n, b in layout.buffers.items()}
    order = evaluation_order(graph, weights, sizes.fused)
    moving.sort(key=lambda leaf: order.first_use.get(leaf, 0))
    scratch = _scratch(phase, sizes, spec, layout, order, boxes)
    copies: dict[Node, int | Sequence[int]] = {**dict.fromkeys(resident, 1),
                                               **dict.fromkeys(moving, 1 if len(boxes) == 1 else 1 + ahead)}
    if len(boxes) > 1:
        # As many results as there are loads under way: their stores are behind those loads, and end after them.
        copies |= {layout.root(result.node): 1 + ahead for result in phase.graph.results}
    if tiling.whole and len(boxes) > 1:
        copies |= _side_by_side(phase, layout, tile, boxes, moving)
    allocation = allocate(graph, sizes, layout, order, scratch, copies, len(boxes), spec.row_bytes)
    return PhasePlan(phase, sizes, spec, tiling, layout, order, allocation, tuple(moving), tuple(resident), unit)


def _unit(phase: Phase, sizes: Sizes, spec: VectorSpec) -> int:
    return spec.row_bytes // min(sizes.bytes.values(), default=4) if len(phase.shape) == 1 else 1


def _side_by_side(phase: Phase, layout: Layout, tile: tuple[int, ...], boxes: TileBoxes,
                  moving: list[Leaf]) -> dict[Node, Sequence[int]]:
    """For arrays and results of which tiles are sets of neighbouring rows, where those of every tile lie in a buffer
    that holds all rows. Rows of results belong to one tile each."""
    places = [regions(phase.graph, _full(box, tile), clip=False) for box in boxes]
    found: dict[Node, Sequence[int]] = {}
    for node in [*moving, *(r.node for r in phase.graph.results)]:
        first, *others = [place[node] for place in places]
        if not first or layout.root(node) is not node or any(box[1:] != first[1:] for box in others):
            continue
        offsets = [box[0][0] - first[0][0] for box in (first, *others)]
        if min(offsets) >= 0 and (isinstance(node, Leaf) or extents(first)[0] == tile[0]):
            found[node] = [rows * layout.buffers[node].strides[0] for rows in offsets]
    return found


def _full(box: Box, tile: tuple[int, ...]) -> Box:
    """The whole tile that begins where `box` does."""
    return tuple((low, low + n) for (low, _), n in zip(box, tile, strict=True))


def _divide(phase: Phase, leaves: list[Leaf], tile: tuple[int, ...], boxes: TileBoxes) -> tuple[list[Leaf], list[Leaf]]:
    """Arrays of which every tile needs the same, and the others."""
    if len(boxes) == 1:
        return [], leaves
    # Within a phase no index falls along a dimension (`phases._storable`): what moves is elsewhere at the last place.
    first, *others = (regions(phase.graph, _full(box, tile), clip=False) for box in (boxes[0], *boxes.farthest()))
    resident = [leaf for leaf in leaves if all(first.get(leaf) == other.get(leaf) for other in others)]
    return resident, [leaf for leaf in leaves if leaf not in resident]


def _scratch(phase: Phase, sizes: Sizes, spec: VectorSpec, layout: Layout, order: Order, boxes: TileBoxes) -> dict:
    """Scratch space per node, as much as any tile needs: the first may have no element of a reduction, or fewer."""
    placement = Placement({layout.root(n): (0,) for n in layout.buffers}, {})

    def code(box: Box) -> TileCode:
        return TileCode(phase.graph, sizes, layout, placement, Settings(), spec.row_bytes, box, 0)

    first = code(tuple((0, min(t, n)) for t, n in zip(layout.tile, phase.shape, strict=True)))
    found = scratch_bytes(first, order.nodes)
    whole = all(first.regions.get(node) == first.places.get(node) for node in order.nodes
                if isinstance(node, Reduce | Scatter))
    for box in () if whole else _unlike_boxes(phase, layout, boxes):
        for node, size in scratch_bytes(code(box), order.nodes).items():
            found[node] = max(size, found.get(node, 0))
    return found


def _unlike_boxes(phase: Phase, layout: Layout, boxes: TileBoxes) -> set[Box]:
    """A tile of every kind, by how it lies to the ends of arrays."""
    places = itertools.product(*([end - 1 for end in ends] for ends in _runs(phase.graph, layout, boxes)))
    return {boxes[0], boxes[len(boxes) - 1], *(boxes.place(index) for index in places)}


def _runs(graph: Graph, layout: Layout, boxes: TileBoxes) -> list[tuple[int, ...]]:
    """The runs of tiles that are alike along each dimension."""
    return [runs_of(count, partial(_signature, graph, layout, boxes, dimension)) if count else ()
            for dimension, count in enumerate(boxes.counts)]


def _signature(graph: Graph, layout: Layout, boxes: TileBoxes, dimension: int, place: int) -> Signature:
    """What tiles at a `place` of one dimension, and in the middle of the others, are like."""
    index = [n // 2 for n in boxes.counts]
    index[dimension] = place
    return signature_of(graph, layout.tile, boxes.place(index))
