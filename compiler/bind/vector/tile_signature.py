"""What a tile is like, wherever it lies: tiles of one signature have the same code, apart from addresses in memory."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from compiler.bind.vector.access import Box
from compiler.bind.vector.emit import TileRegions
from compiler.bind.vector.graph import Extend, Leaf, nodes_of
from compiler.bind.vector.layout import group_period
from compiler.bind.vector.transfers import axis_pieces
from compiler.bind.vector.translate import Graph

__all__ = ["Signature", "code_signature", "signature_of"]

Signature = Hashable


def signature_of(graph: Graph, tile: tuple[int, ...], box: Box) -> Signature:
    """Of tiles of the shape `tile`: the parts of all nodes that the one at `box` needs, counted from where a whole tile
    there begins; which of that lies outside arrays and extensions; and how it lies to groups of stretched nodes."""
    return code_signature(graph, box, TileRegions.of(graph, tile, box), group_period(graph))


def code_signature(graph: Graph, box: Box, found: TileRegions, period: int) -> Signature:
    """The same of a tile of which the regions are known; `period`: see `group_period`."""
    places, needed = found
    parts: list[Hashable] = [tuple((low % period, high - low) for low, high in box)]
    for node in nodes_of([result.node for result in graph.results]):
        if node not in places:
            continue
        corner = [low for low, _ in places[node]]
        parts.append(_moved(places[node], corner))
        if node in needed:
            parts.append(_moved(needed[node], corner))
        if isinstance(node, Leaf):
            parts += [tuple(_pieces(node, part, corner)) for part in (places[node], needed.get(node)) if part]
        if isinstance(node, Extend):
            parts.append(tuple((max(low, start) - low, high - min(high, start + extent)) for (low, high), start, extent
                               in zip(needed.get(node, places[node]), node.starts, node.shape, strict=True)))
    return tuple(parts)


def _moved(box: Box, corner: list[int]) -> Box:
    return tuple((low - c, high - c) for (low, high), c in zip(box, corner, strict=True))


def _pieces(leaf: Leaf, box: Box, corner: list[int]) -> Iterator[Hashable]:
    """What is transferred along each dimension."""
    for (low, high), size, boundary, start in zip(box, leaf.shape, leaf.boundaries, corner, strict=True):
        pieces = axis_pieces(low, high, size, boundary)
        yield tuple((p.target - start, p.source - p.target, p.length) for p in pieces)
