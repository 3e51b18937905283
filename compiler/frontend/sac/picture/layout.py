"""Where boxes and wires of a diagram go: in layers from top to bottom, as data flows (Sugiyama, Tagawa and Toda 1981).

Lengths are in characters of the text; y grows downwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

__all__ = ["Box", "Diagram", "Placed", "Wire", "place"]

_GAP, _LINE, _ROOM, _SWEEPS = 3.0, 2.0, 4.0, 6


@dataclass(frozen=True)
class Wire:
    """From an output of a box to an input of another; a box is meant by its number."""

    source: int
    port: int
    target: int
    slot: int
    back: bool = False


@dataclass(frozen=True)
class Box:
    """Lines of text, around diagrams if there are any; `role` chooses the colour."""

    lines: tuple[str, ...]
    role: str
    inside: tuple[Diagram, ...] = ()


@dataclass(frozen=True)
class Diagram:
    """Boxes and the wires between them."""

    boxes: tuple[Box, ...]
    wires: tuple[Wire, ...]


@dataclass
class Placed:
    """A diagram with places: for each box the rectangle (x, y, width, height) and the diagrams in it with their left
    upper corners; for each wire the points it goes through."""

    diagram: Diagram
    width: float = 0.0
    height: float = 0.0
    rectangles: list[tuple[float, float, float, float]] = field(default_factory=list)
    inside: list[list[tuple[float, float, Placed]]] = field(default_factory=list)
    paths: list[list[tuple[float, float]]] = field(default_factory=list)


@dataclass
class _Item:
    """A box, or a point of a wire that passes a layer."""

    layer: int
    width: float
    height: float
    before: list[_Item] = field(default_factory=list)
    behind: list[_Item] = field(default_factory=list)
    x: float = 0.0


def place(diagram: Diagram) -> Placed:
    """Places for all boxes and wires, those inside boxes too."""
    placed = Placed(diagram)
    inner = [[place(each) for each in box.inside] for box in diagram.boxes]
    items = [_Item(0, *_size(box, parts)) for box, parts in zip(diagram.boxes, inner, strict=True)]
    _assign_layers(diagram, items)
    chains = [_chain(items[wire.source], items[wire.target]) if not wire.back else [] for wire in diagram.wires]
    layers = _layers([*items, *(point for chain in chains for point in chain)])
    for _ in range(_SWEEPS):
        for layer in layers:
            _order(layer, "before")
        for layer in reversed(layers):
            _order(layer, "behind")
    _measure(placed, layers, items)
    for box, item, parts in zip(diagram.boxes, items, inner, strict=True):
        placed.rectangles.append((item.x - item.width / 2, _tops(layers)[item.layer], item.width, item.height))
        placed.inside.append(list(_within(box, placed.rectangles[-1], parts)))
    placed.paths = [_path(placed, wire, chain, layers) for wire, chain in zip(diagram.wires, chains, strict=True)]
    return placed


def _size(box: Box, parts: Sequence[Placed]) -> tuple[float, float]:
    """Width and height of a box: its text above the diagrams side by side."""
    width = max(len(line) for line in box.lines) + 2
    height = len(box.lines) * _LINE + 0.8
    if not parts:
        return width, height
    return (max(width, sum(p.width for p in parts) + _GAP * (len(parts) + 1)),
            height + max(p.height for p in parts) + 2)


def _assign_layers(diagram: Diagram, items: Sequence[_Item]) -> None:
    """Each box below all that feed it; sources directly above the first that they feed."""
    wires = [wire for wire in diagram.wires if not wire.back]
    for wire in sorted(wires, key=lambda w: w.target):
        items[wire.target].layer = max(items[wire.target].layer, items[wire.source].layer + 1)
    fed = {wire.target for wire in wires}
    for number, item in enumerate(items):
        users = [items[wire.target].layer for wire in wires if wire.source == number]
        if number not in fed and users:
            item.layer = min(users) - 1


def _chain(source: _Item, target: _Item) -> list[_Item]:
    """Points where a wire passes layers, linked with what is before and behind them."""
    points = [_Item(layer, 1.0, 0.0) for layer in range(source.layer + 1, target.layer)]
    for one, other in zip([source, *points], [*points, target], strict=True):
        one.behind.append(other)
        other.before.append(one)
    return points


def _layers(items: Sequence[_Item]) -> list[list[_Item]]:
    layers: list[list[_Item]] = [[] for _ in range(1 + max((item.layer for item in items), default=0))]
    for item in items:
        layers[item.layer].append(item)
    for layer in layers:
        _pack(layer, [0.0] * len(layer))
    return layers


def _order(layer: list[_Item], side: str) -> None:
    """Sort a layer by the mean place of what its items are linked with, and move them there as far as there is room."""
    wanted = {}
    for item in layer:
        linked = getattr(item, side)
        wanted[id(item)] = sum(other.x for other in linked) / len(linked) if linked else item.x
    layer.sort(key=lambda item: wanted[id(item)])
    _pack(layer, [wanted[id(item)] for item in layer])


def _pack(layer: Sequence[_Item], wanted: Sequence[float]) -> None:
    """Give items their wanted places, or, where these overlap, places side by side around the mean of them."""
    groups: list[tuple[list[_Item], float, float]] = []
    for item, x in zip(layer, wanted, strict=True):
        group, centre, width = [item], x, item.width + _GAP
        while groups and groups[-1][1] + groups[-1][2] / 2 > centre - width / 2:
            left, left_centre, left_width = groups.pop()
            count = len(left) + len(group)
            # The joined group stands where its items want to be on average.
            centre = ((left_centre + left_width / 2) * len(left) - left_width / 2 * len(left)
                      + (centre - width / 2 + width / 2) * len(group)) / count
            group, width = left + group, left_width + width
        groups.append((group, centre, width))
    for group, centre, width in groups:
        x = centre - width / 2
        for item in group:
            item.x = x + (item.width + _GAP) / 2
            x += item.width + _GAP


def _tops(layers: Sequence[Sequence[_Item]]) -> list[float]:
    """Where each layer begins."""
    tops, y = [], 1.0
    for layer in layers:
        tops.append(y)
        y += max((item.height for item in layer), default=0.0) + _ROOM
    return tops


def _measure(placed: Placed, layers: Sequence[Sequence[_Item]], items: Sequence[_Item]) -> None:
    """Move everything to positive places; the size of the whole."""
    everything = [item for layer in layers for item in layer]
    left = min((item.x - item.width / 2 for item in everything), default=0.0)
    for item in everything:
        item.x -= left - 1
    placed.width = max((item.x + item.width / 2 for item in everything), default=0.0) + 1
    placed.height = _tops([*layers, []])[-1] - _ROOM + 1


def _within(box: Box, rectangle: tuple[float, float, float, float], parts: Sequence[Placed]
            ) -> Iterator[tuple[float, float, Placed]]:
    x, y, width, _ = rectangle
    room = (width - sum(part.width for part in parts)) / (len(parts) + 1)
    x += room
    for part in parts:
        yield x, y + len(box.lines) * _LINE + 1.4, part
        x += part.width + room


def _path(placed: Placed, wire: Wire, chain: Sequence[_Item], layers: Sequence[Sequence[_Item]]
          ) -> list[tuple[float, float]]:
    """From the lower edge of a box through all layers to the upper edge of another; one that goes back at the right."""
    first, last = _end(placed, wire, False), _end(placed, wire, True)
    if wire.back:
        side = max(placed.rectangles[n][0] + placed.rectangles[n][2] for n in (wire.source, wire.target)) + 1.5
        return [first, (side, first[1] + 1), (side, last[1] - 1), last]
    tops = _tops(layers)
    return [first, *((point.x, tops[point.layer] + d) for point in chain for d in (0.0, _height(layers[point.layer]))),
            last]


def _height(layer: Sequence[_Item]) -> float:
    return max((item.height for item in layer), default=0.0)


def _end(placed: Placed, wire: Wire, target: bool) -> tuple[float, float]:
    number = wire.target if target else wire.source
    places = sorted({w.slot if target else w.port for w in placed.diagram.wires
                     if (w.target if target else w.source) == number})
    x, y, width, height = placed.rectangles[number]
    share = (places.index(wire.slot if target else wire.port) + 1) / (len(places) + 1)
    return x + width * share, y if target else y + height
