"""A picture of a process network as SVG: nodes in columns by their distance from the sources, channels as arrows.

Shift registers and reordering buffers are drawn thick, as in the figures of Bok 2018; labels give array and size.
"""

from __future__ import annotations

from html import escape

import networkx as nx

from compiler.sched.process_network.channels import ChannelKind
from compiler.sched.process_network.network import Edge, NodeKind, ProcessNetwork

__all__ = ["draw_network"]

_COLUMN, _ROW, _WIDTH, _HEIGHT, _MARGIN = 230, 110, 120, 44, 70
_FILL = {NodeKind.INPUT: "#d5e8d4", NodeKind.CONSTANT: "#f5f5f5", NodeKind.COMPUTE: "#dae8fc",
         NodeKind.OUTPUT: "#ffe6cc"}
_COLOUR = {ChannelKind.REGISTER: "#666666", ChannelKind.FIFO: "#1f77b4", ChannelKind.SHIFT_REGISTER: "#2ca02c",
           ChannelKind.REORDERING: "#d62728"}

Position = tuple[int, int]


def draw_network(network: ProcessNetwork) -> str:
    """An SVG document."""
    places = _places(network)
    width = max(x for x, _ in places.values()) + _WIDTH + _MARGIN
    height = max(y for _, y in places.values()) + _HEIGHT + _MARGIN
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             'font-family="sans-serif" font-size="12">', _arrow_head()]
    seen: dict[tuple[str, str], int] = {}
    for edge in network.edges:
        lane = seen.get((edge.source, edge.sink), 0)
        seen[edge.source, edge.sink] = lane + 1
        parts.append(_arrow(edge, places, lane))
    for node in network.nodes:
        x, y = places[node.name]
        parts.append(f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="8" fill="{_FILL[node.kind]}" '
                     'stroke="#333333"/>')
        parts += [_label(x + _WIDTH // 2, y + 19, node.name, bold=True),
                  _label(x + _WIDTH // 2, y + 35, f"{node.kind.value}, {node.firings}")]
    return "\n".join([*parts, "</svg>", ""])


def _places(network: ProcessNetwork) -> dict[str, Position]:
    """Upper left corner of every node."""
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_nodes_from(node.name for node in network.nodes)
    number = {node.name: node.number for node in network.nodes}
    graph.add_edges_from((e.source, e.sink) for e in network.edges if number[e.source] < number[e.sink])
    places: dict[str, Position] = {}
    for column, names in enumerate(nx.topological_generations(graph)):
        for row, name in enumerate(sorted(names, key=lambda name: number[name])):
            places[name] = (_MARGIN + column * _COLUMN, _MARGIN + row * _ROW)
    return places


def _arrow_head() -> str:
    return ('<defs><marker id="head" markerWidth="9" markerHeight="8" refX="8" refY="4" orient="auto" '
            'markerUnits="userSpaceOnUse"><path d="M0,0 L9,4 L0,8 z" fill="#333333"/></marker></defs>')


def _arrow(edge: Edge, places: dict[str, Position], lane: int) -> str:
    (x, y), (u, v) = places[edge.source], places[edge.sink]
    if edge.source == edge.sink:
        rise = 26 + 20 * lane
        x0, x1 = x + 20 + 8 * lane, x + _WIDTH - 20 - 8 * lane
        path = f"M{x1},{y} C{x1 + 16},{y - rise} {x0 - 16},{y - rise} {x0},{y}"
        middle = (x + _WIDTH // 2, y - (3 * rise) // 4 - 4)
    else:
        shift = 9 * lane - 8
        y0, y1 = y + _HEIGHT // 2 + shift, v + _HEIGHT // 2 + shift
        x0, x1 = x + _WIDTH, u
        half = (x0 + x1) // 2
        path = f"M{x0},{y0} C{half},{y0} {half},{y1} {x1},{y1}"
        middle = (half, (y0 + y1) // 2 - 4)
    thick = 3 if edge.kind in (ChannelKind.SHIFT_REGISTER, ChannelKind.REORDERING) else 1
    label = _label(*middle, f"{edge.array} {edge.size}", colour=_COLOUR[edge.kind])
    return (f'<path d="{path}" fill="none" stroke="{_COLOUR[edge.kind]}" stroke-width="{thick}" '
            f'marker-end="url(#head)"><title>{escape(str(edge))}</title></path>{label}')


def _label(x: int, y: int, text: str, *, bold: bool = False, colour: str = "#000000") -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" text-anchor="middle" fill="{colour}"{weight}>{escape(text)}</text>'
