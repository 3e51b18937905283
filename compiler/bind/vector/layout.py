"""Regions and buffers: which part of every node a tile of the result needs, and where it lies in the scratchpad.

The layout of buffers depends on the size of tiles alone, not on their place, so all tiles use the same addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import lcm

from compiler.bind.vector.access import Access, Box, image
from compiler.bind.vector.graph import MULTIPLY_ADDS, Extend, Leaf, Node, Op, Reduce, Scatter, Stretch, Take, nodes_of
from compiler.bind.vector.sizes import Sizes
from compiler.bind.vector.tile_boxes import TileBoxes
from compiler.bind.vector.translate import Graph

__all__ = ["Buffer", "Layout", "extents", "group_period", "layout_of", "make_layout", "reduced_box", "regions"]


BEAT = 32
"""Bytes of a beat of main memory, at most."""
LONG = 256
"""Rows of at least so many bytes are aligned."""


def extents(box: Box) -> tuple[int, ...]:
    """Elements per dimension."""
    return tuple(high - low for low, high in box)


def _union(a: Box | None, b: Box) -> Box:
    if a is None:
        return b
    return tuple((min(p[0], q[0]), max(p[1], q[1])) for p, q in zip(a, b, strict=True))


def _inside(box: Box, starts: tuple[int, ...], shape: tuple[int, ...]) -> Box:
    return tuple((max(low, s), min(high, s + n)) for (low, high), s, n in zip(box, starts, shape, strict=True))


def reduced_box(node: Reduce, box: Box) -> Box:
    """The box in which the source of a reduction is read for results in `box`."""
    return (*box, *((0, n) for n in node.extents))


def needed(node: Node, box: Box, clip: bool) -> Iterable[tuple[Access, Box]]:
    """What `node` reads to be known in `box`."""
    match node:
        case Reduce():
            yield node.source, image(node.source, reduced_box(node, box))
        case Stretch():
            scaled = tuple(_groups(low, high, f, clip) for (low, high), f in zip(box, node.factors, strict=True))
            yield node.source, image(node.source, scaled)
        case Take():
            yield node.table, image(node.table, ((0, node.length),))
            yield node.index, image(node.index, box)
        case Scatter():
            if isinstance(node.base, Access):
                yield node.base, image(node.base, ((0, node.kept),))
            yield from ((v, image(v, node.box)) for v in (node.index, node.value) if isinstance(v, Access))
        case Extend() if clip and not node.is_fused:
            # What lies outside may be taken from anywhere inside.
            yield node.accesses[0], tuple((s, s + n) for s, n in zip(node.starts, node.shape, strict=True))
        case Extend():
            inner = _inside(box, node.starts, node.shape) if clip else box
            if all(low < high for low, high in inner):
                yield node.accesses[0], inner
        case Op():
            for access in node.accesses:
                yield access, image(access, box)


def _groups(low: int, high: int, factor: int, exact: bool) -> tuple[int, int]:
    """Groups of `factor` that a range touches; if not `exact`, as many as a range of its length can ever touch."""
    first = low // factor
    return first, -(-high // factor) if exact else first + (high - low + factor - 2) // factor + 1


def regions(graph: Graph, tile: Box, clip: bool) -> dict[Node, Box]:
    """Boxes of all nodes that are needed for a tile of the results (in their common indices from 0).

    With `clip`, nothing outside the original of an extended node is needed.
    """
    found: dict[Node, Box] = {}
    for result in graph.results:
        box = tuple((low + s, high + s) for (low, high), s in zip(tile, result.starts, strict=True))
        found[result.node] = _union(found.get(result.node), box)
    for node in reversed(list(nodes_of([r.node for r in graph.results]))):
        if node in found:
            if isinstance(node, Scatter):
                found[node] = ((0, node.length),)
            for access, box in needed(node, found[node], clip):
                found[access.node] = _union(found.get(access.node), box)
    return found


@dataclass(frozen=True)
class Buffer:
    """Memory of a node: a box of `shape` elements of `size` bytes with steps of `strides` bytes per dimension, after
    `lead` bytes that are there for alignment."""

    shape: tuple[int, ...]
    size: int
    strides: tuple[int, ...]
    lead: int = 0

    @property
    def bytes(self) -> int:
        """From the first byte to the last."""
        return self.lead + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)) + self.size


def _strides(shape: tuple[int, ...], size: int, pitch: int) -> tuple[int, ...]:
    steps: list[int] = []
    step = size
    for dimension, extent in enumerate(reversed(shape)):
        steps.append(step)
        step *= pitch if dimension == 0 and len(shape) > 1 else extent
    return tuple(reversed(steps))


@dataclass
class Layout:
    """Buffers of nodes; `home` names the node whose buffer another one lies in (an accumulator in its sum's, the
    original in its extension's)."""

    tile: tuple[int, ...]
    buffers: dict[Node, Buffer]
    home: dict[Node, Node]

    def root(self, node: Node) -> Node:
        """The node that owns the buffer of `node`."""
        while node in self.home:
            node = self.home[node]
        return node


def make_layout(graph: Graph, sizes: Sizes, tile: tuple[int, ...], boxes: TileBoxes, row_bytes: int) -> Layout:
    """The layout for tiles of the shape `tile`, which begin where `boxes` do."""
    return layout_of(graph, sizes, tile, _largest_regions(graph, tile, boxes), row_bytes)


def _largest_regions(graph: Graph, tile: tuple[int, ...], boxes: TileBoxes) -> dict[Node, Box]:
    """The regions of the first tile, made as large as those of any other one: where two values are groups of an array
    from different elements on, a tile needs one group of it or two, as it comes."""
    found = regions(graph, tuple((0, n) for n in tile), clip=False)
    period = group_period(graph)
    for starts in boxes.starts(period) if period > 1 else ():
        moved = regions(graph, tuple((start, start + n) for start, n in zip(starts, tile, strict=True)), clip=False)
        found = {node: _at_least(box, extents(moved[node])) for node, box in found.items()}
    return found


def _at_least(box: Box, shape: tuple[int, ...]) -> Box:
    return tuple((low, max(high, low + n)) for (low, high), n in zip(box, shape, strict=True))


def group_period(graph: Graph) -> int:
    """After how many elements of the results the groups that they need begin in the same way again."""
    periods: dict[Node, int] = {result.node: 1 for result in graph.results}
    for node in reversed(list(nodes_of(periods))):
        own = periods[node] * (lcm(*node.factors) if isinstance(node, Stretch) else 1)
        for access in node.accesses:
            periods[access.node] = lcm(periods.get(access.node, 1), own)
    return lcm(*periods.values())


def layout_of(graph: Graph, sizes: Sizes, tile: tuple[int, ...], boxes: dict[Node, Box], row_bytes: int) -> Layout:
    """The layout in which every node has room for its box."""
    nodes = [n for n in nodes_of([r.node for r in graph.results]) if n in boxes and n not in sizes.fused]
    home = _homes(graph, nodes, boxes, sizes)
    results = {r.node for r in graph.results}
    shapes = {n: extents(boxes[n]) for n in nodes}
    summed = _only_summed(graph, sizes, shapes)
    widths = [s[-1] for n, s in shapes.items() if len(s) > 1 and n not in home]
    pitch = _pitch(max(widths, default=1), nodes)
    buffers: dict[Node, Buffer] = {}
    pitches: dict[Node, int] = {}
    for node, shape in shapes.items():
        own = shape[-1] if shape else 1
        aligned = own * sizes.bytes[node] % row_bytes == 0
        common = 2 * own > pitch and not (node in results and aligned) and node not in summed
        if node in summed:
            sources = [pitches[a.node] for a in node.accesses if isinstance(node, Op)]
            own = pitches[node] = sources[0] if sources else _nearly_whole_row(node, own)
        size = sizes.bytes[node]
        lead = boxes[node][-1][0] * size % BEAT if isinstance(node, Leaf) and own * size >= LONG else 0
        buffers[node] = Buffer(shape, size, _strides(shape, size, pitch if common else own), lead)
    return Layout(tile, buffers, home)


def _only_summed(graph: Graph, sizes: Sizes, shapes: Mapping[Node, tuple[int, ...]]) -> set[Node]:
    """Values that nothing but sums by the accumulator reads, what they alone are made of, element by element, and sums
    that nothing reads: rows without gaps between them are of more use there than the pitch of others."""
    nodes = list(nodes_of([r.node for r in graph.results]))
    results = {r.node for r in graph.results}
    found = set(shapes) - results
    for node in reversed(nodes):
        alone = node in found and isinstance(node, Op) and len(node.accesses) == 1
        if not isinstance(node, Reduce) and node not in sizes.fused and not alone:
            found -= {access.node for access in node.accesses}
    for node in nodes:
        same = all(a.node in found and shapes[a.node] == shapes[node] for a in node.accesses if node in found)
        if (isinstance(node, Op) and not same) or not isinstance(node, Op | Leaf):
            found.discard(node)
    read = {access.node for node in nodes for access in node.accesses}
    return found | {n for n in results if isinstance(n, Reduce)} - read


def _nearly_whole_row(node: Node, width: int) -> int:
    """The pitch of an array of which `width` elements of every row are wanted: if they are nearly all, that in memory,
    so that one transfer brings all rows."""
    plain = isinstance(node, Leaf) and node.rank > 1 and node.part is None and not any(node.boundaries)
    return node.shape[-1] if plain and 0 < (node.shape[-1] - width) * 16 <= width else width


def _pitch(width: int, nodes: Iterable[Node]) -> int:
    """Elements from row to row: whole beats, if that is little more than the widest row. Transfers of rows that begin
    in the same place of a beat on both sides lose no cycles."""
    unit = BEAT // min((n.dtype.itemsize for n in nodes if isinstance(n, Leaf)), default=4)
    rounded = -(-width // unit) * unit
    return rounded if (rounded - width) * 32 <= width else width


def _homes(graph: Graph, nodes: list[Node], boxes: dict[Node, Box], sizes: Sizes) -> dict[Node, Node]:
    uses: dict[Node, list[Node]] = {}
    results = {r.node for r in graph.results}
    for node in nodes:
        for access in node.accesses:
            uses.setdefault(access.node, []).append(node)
    home: dict[Node, Node] = {}
    for node in nodes:
        if isinstance(node, Extend):
            source = node.source
            free = not isinstance(source, Leaf) and source not in results and source not in home
            same = free and boxes[source] == boxes[node] and sizes.bytes[source] == sizes.bytes[node]
            if same and (len(uses[source]) == 1 or _leaves_to_others(graph, node, uses[source])):
                home[source] = node
        elif isinstance(node, Op) and node.operation in (*MULTIPLY_ADDS, "where"):
            kept = node.operands[2 if node.operation == "where" else 0]
            if isinstance(kept, Access) and _may_host(node, kept, uses, boxes, sizes, results):
                home.setdefault(kept.node, node)
    return home


def _leaves_to_others(graph: Graph, node: Extend, users: list[Node]) -> bool:
    """Whether all that other `users` of its source read is where the extension, which writes what lies outside of it
    over the source, keeps it."""
    inside = tuple((start, start + extent) for start, extent in zip(node.starts, node.shape, strict=True))
    spaces = [result.shape for result in graph.results]
    whole = regions(graph, tuple((0, max(extent)) for extent in zip(*spaces, strict=True)), clip=True)
    for user in users:
        for access, box in needed(user, whole[user], True) if user is not node and user in whole else ():
            if access.node is node.source and _union(inside, box) != inside:
                return False
    return True


def _may_host(node: Op, kept: Access, uses: dict[Node, list[Node]], boxes: dict[Node, Box], sizes: Sizes,
              results: set[Node]) -> bool:
    """Whether the operand that an instruction overwrites can be made where the result goes."""
    source = kept.node
    if isinstance(source, Leaf | Extend) or source in results or len(uses[source]) > 1:
        return False
    if not kept.is_translation(node.rank) or sizes.bytes[source] != sizes.bytes[node]:
        return False
    return image(kept, boxes[node]) == boxes[source]
