"""Plans that slide down the rows of a result: every row of every value is computed once.

A tile is one row of some columns. Values that later rows need stay in the scratchpad, each in as many places as its
rows are needed for, used in turn: nothing is copied or computed again where tiles meet, and the code repeats after as
many rows as all places have in common. Rows before the first result's are computed in tiles of their own at the top.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import lcm

from compiler.bind.vector.access import Box
from compiler.bind.vector.allocate import Allocation, allocate
from compiler.bind.vector.emit import TileCode
from compiler.bind.vector.graph import Leaf, Node, Op, nodes_of
from compiler.bind.vector.ir import Statement
from compiler.bind.vector.layout import Layout, layout_of, regions
from compiler.bind.vector.order import Order, evaluation_order
from compiler.bind.vector.phases import Phase
from compiler.bind.vector.shapes import Settings, State
from compiler.bind.vector.sizes import Sizes
from compiler.bind.vector.tile_loops import TileLevel, TileNest, runs_of
from compiler.bind.vector.transfers import load, store
from hw.vector_lanes.spec import VectorSpec

__all__ = ["SlidingPlan", "SlidingWork", "make_sliding_plan"]


@dataclass(frozen=True)
class _Rows:
    """Which row of each node a tile computes, counted from the tile's own row, and how many rows of it are needed."""

    lead: Mapping[Node, int]
    kept: Mapping[Node, int]


def _rows(phase: Phase) -> _Rows | None:
    """None if rows of some node do not follow the rows of the results one by one, or nothing is gained."""
    graph = phase.graph
    nodes = list(nodes_of([r.node for r in graph.results]))
    if len(phase.shape) != 2 or not all(_slides(node) for node in nodes):
        return None
    boxes = regions(graph, ((0, 1), (0, 1)), clip=False)
    lead = {node: box[0][1] - 1 for node, box in boxes.items()}
    kept = dict.fromkeys(nodes, 1)
    for result in graph.results:
        kept[result.node] = max(kept[result.node], lead[result.node] - result.starts[0] + 1)
    for node in nodes:
        for access in node.accesses:
            needed = lead[access.node] - lead[node] - access.offset[0] + 1
            kept[access.node] = max(kept[access.node], needed)
    reused = any(kept[node] > 1 and isinstance(node, Op) for node in nodes)
    return _Rows(lead, kept) if reused else None


def _slides(node: Node) -> bool:
    if isinstance(node, Leaf):
        return node.rank == 2 and not any(node.boundaries)
    return isinstance(node, Op) and node.rank == 2 and all(a.is_translation(2) for a in node.accesses)


class _RowCode(TileCode):
    """Code of one row: rows of a node lie in its places in turn."""

    def __init__(self, plan: SlidingPlan, settings: Settings, row: int, columns: tuple[int, int]) -> None:
        self.graph, self.sizes, self.layout = plan.phase.graph, plan.sizes, plan.layout
        self.placement, self.settings, self.row_bytes = plan.allocation.placement, settings, plan.spec.row_bytes
        self.turn = row
        self.box = ((row, row + 1), columns)
        self.places = plan.block(columns)
        rows = ((node, box, row + plan.rows.lead[node]) for node, box in self.places.items())
        self.regions = {node: ((own, own + 1), *box[1:]) for node, box, own in rows if box[0][0] <= own < box[0][1]}

    def address(self, node: Node, index: Sequence[int]) -> int:
        owner = self.layout.root(node)
        addresses = self.placement.addresses[owner]
        stride = self.layout.buffers[owner].strides[1]
        first = addresses[index[0] % len(addresses)] + self.layout.buffers[owner].lead
        return first + (index[1] - self.places[node][1][0]) * stride


@dataclass
class SlidingPlan:
    """A phase computed row by row, in blocks of `layout.tile[1]` columns. See `PhasePlan`."""

    phase: Phase
    sizes: Sizes
    spec: VectorSpec
    layout: Layout
    order: Order
    allocation: Allocation
    rows: _Rows
    _blocks: dict[tuple[int, int], dict[Node, Box]] = field(default_factory=dict)
    _made: dict[Hashable, tuple[list[Statement], State]] = field(default_factory=dict)

    def block(self, columns: tuple[int, int]) -> dict[Node, Box]:
        """What a block of columns needs of every node."""
        if columns not in self._blocks:
            self._blocks[columns] = regions(self.phase.graph, ((0, self.phase.shape[0]), columns), clip=False)
        return self._blocks[columns]

    def _tile(self, number: int) -> tuple[int, tuple[int, int]]:
        """Row and columns of a tile."""
        block, row = divmod(number, self.height)
        first = block * self.layout.tile[1]
        return row - self.ahead, (first, min(first + self.layout.tile[1], self.phase.shape[1]))

    @cached_property
    def ahead(self) -> int:
        """Tiles above the first row of a block."""
        return max(self.rows.lead[node] - box[0][0] for node, box in self.block((0, 1)).items())

    @property
    def height(self) -> int:
        """Tiles of a block."""
        return self.ahead + self.phase.shape[0]

    @property
    def steps(self) -> int:
        """Tiles."""
        return self.height * -(-self.phase.shape[1] // self.layout.tile[1])

    def segments(self, settings: Settings) -> Iterator[list[Statement]]:
        """Statements in groups: what comes before the first tile, then one group per tile. While a row is computed, the
        next one is loaded and the one before is stored."""
        work = self.work(settings)
        yield work.before()
        for number in range(self.steps):
            yield work.group(number)

    def work(self, settings: Settings) -> SlidingWork:
        """The groups of `segments` by number."""
        return SlidingWork(self, settings)

    def nest(self) -> TileNest:
        """Loops over blocks of columns, and over the rows of a block."""
        width, step = self.phase.shape[1], self.layout.tile[1]
        whole = width // step
        blocks = (whole, whole + 1) if whole and width % step else (max(whole, 1),)
        rows = runs_of(self.height, lambda row: frozenset(self._code(row, Settings()).regions))
        return TileNest((TileLevel(blocks, 1, 1), TileLevel(rows, self.period, 1)))

    def _computed(self, code: _RowCode) -> list[Statement]:
        """The instructions of a row. They repeat with the places of rows, so each is made once."""
        (row, _), (first, last) = code.box
        key = (row % self.period, last - first, len(code.regions), code.settings.state())
        if key not in self._made:
            statements = list(code.compute(self.order))
            self._made[key] = (statements, code.settings.state())
        statements, after = self._made[key]
        code.settings.restore(after)
        return statements

    @cached_property
    def period(self) -> int:
        """Rows after which all places come round."""
        return lcm(*(len(a) for a in self.allocation.placement.addresses.values()))

    def _code(self, number: int, settings: Settings) -> _RowCode:
        row, columns = self._tile(number)
        return _RowCode(self, settings, row, columns)

    def _load(self, code: _RowCode) -> list[Statement]:
        return [s for leaf in code.regions if isinstance(leaf, Leaf) for s in load(code, leaf, code.regions[leaf])]


class SlidingWork:
    """The statements of a plan's rows; `settings` carries over from one to the next."""

    def __init__(self, plan: SlidingPlan, settings: Settings) -> None:
        self._plan, self._settings = plan, settings
        self._made = (0, plan._code(0, settings))

    def before(self) -> list[Statement]:
        """The first row is loaded."""
        return self._plan._load(self._made[1])

    def group(self, number: int) -> list[Statement]:
        """The work of a row, with the load of the next one."""
        plan = self._plan
        current = self._made[1] if self._made[0] == number else plan._code(number, self._settings)
        group: list[Statement] = []
        if number + 1 < plan.steps:
            self._made = (number + 1, plan._code(number + 1, self._settings))
            group += plan._load(self._made[1])
        group += plan._computed(current)
        if current.box[0][0] >= 0:
            for result in plan.phase.graph.results:
                group += store(current, result)
        return group

    def state(self) -> Hashable:
        """All that the statements of the next row depend on besides the rows around it."""
        return self._settings.state()


def make_sliding_plan(phase: Phase, sizes: Sizes, spec: VectorSpec, columns: int) -> SlidingPlan | None:
    """A plan with blocks of so many columns, whether it fits the scratchpad or not; None for phases that no such plan
    suits."""
    rows = _rows(phase)
    if rows is None or sizes.fused:
        return None
    graph = phase.graph
    boxes = regions(graph, ((0, 1), (0, columns)), clip=False)
    single = {node: ((box[0][1] - 1, box[0][1]), box[1]) for node, box in boxes.items()}
    layout = layout_of(graph, sizes, (1, columns), single, spec.row_bytes)
    order = evaluation_order(graph, {n: b.bytes for n, b in layout.buffers.items()}, sizes.fused)
    results = {layout.root(r.node) for r in graph.results}
    copies: dict[Node, int] = {}
    for node in layout.buffers:
        owner = layout.root(node)
        ahead = isinstance(node, Leaf) or owner in results
        if rows.kept[node] > 1 or ahead:
            copies[owner] = max(copies.get(owner, 0), rows.kept[node] + ahead)
    allocation = allocate(graph, sizes, layout, order, {}, copies, phase.shape[0], spec.row_bytes)
    return SlidingPlan(phase, sizes, spec, layout, order, allocation, rows)
