"""The array as a picture: tiles, what they do, and the routes between them, as SVG."""

from __future__ import annotations

from html import escape

from compiler.bind.cgra.netlist import PeNode, Pin, StreamIn
from compiler.bind.cgra.place_and_route import Physical
from compiler.bind.cgra.sites import IO_ROW, RESULT_ROW
from hw.fabric.routing import Network, Side, Wire
from hw.fabric.spec import FabricSpec, TileKind

__all__ = ["floor_plan", "net_colours"]

TILE, GAP = 64, 34
PITCH = TILE + GAP
MARGIN = 20
TOP = 70
_STEP = {Side.N: (-1, 0), Side.E: (0, 1), Side.S: (1, 0), Side.W: (0, -1)}


def net_colours(pins: list[Pin]) -> dict[Pin, str]:
    """A colour for each net, spread around the circle of hues."""
    return {pin: f"hsl({int(360 * k * 0.618) % 360} 70% 40%)" for k, pin in enumerate(sorted(pins))}


def floor_plan(physical: Physical, spec: FabricSpec) -> str:
    """SVG of the whole array with all routes; hovering names tiles and nets."""
    width = 2 * MARGIN + spec.columns * PITCH
    height = TOP + MARGIN + spec.rows * PITCH
    parts = [f'<svg viewBox="0 0 {width} {height}" width="{min(width, 1500)}" role="img" '
             f'aria-label="floor plan" font-family="sans-serif" font-size="10">']
    units = {tuple(site): name for name, site in physical.placement.sites.items()}
    parts += [_tile(physical, spec, units, row, column) for row, column in spec.tiles()]
    parts += [_bank(units, column) for column in spec.bank_columns]
    parts += _routes(physical, spec)
    return "\n".join([*parts, "</svg>"])


def _corner(row: int, column: int) -> tuple[int, int]:
    return MARGIN + column * PITCH, TOP + row * PITCH


def _tile(physical: Physical, spec: FabricSpec, units: dict, row: int, column: int) -> str:
    x, y = _corner(row, column)
    memory = spec.tile_kind(row, column) is TileKind.MEM
    name = units.get((row, column))
    fill = ("#cfe3f7" if memory else "#fde9c9") if name else "#f4f4f4"
    box = f'<rect x="{x}" y="{y}" width="{TILE}" height="{TILE}" rx="5" fill="{fill}" stroke="#999"/>'
    title = f"tile ({row}, {column}): {name or 'unused'}"
    return f"<g><title>{escape(title)}</title>{box}{_label(physical, name, memory, x, y)}</g>"


def _label(physical: Physical, name: str | None, memory: bool, x: int, y: int) -> str:
    if name is None:
        text = ["mem" if memory else ""]
    else:
        node = physical.netlist.nodes[name]
        text = [name.rsplit(".", 1)[-1] if isinstance(node, PeNode) else name]
        if isinstance(node, PeNode):
            text.insert(0, node.config.op)
    middle = x + TILE / 2
    lines = [f'<text x="{middle}" y="{y + 28 + 13 * k}" text-anchor="middle">{escape(t[:11])}</text>'
             for k, t in enumerate(text)]
    return "".join(lines)


def _bank(units: dict, column: int) -> str:
    x, _ = _corner(0, column)
    name = " / ".join(units[row, column] for row in (IO_ROW, RESULT_ROW) if (row, column) in units)
    fill = "#d6efd2" if name else "#f4f4f4"
    box = f'<rect x="{x}" y="{MARGIN / 2}" width="{TILE}" height="24" rx="5" fill="{fill}" stroke="#999"/>'
    text = escape((name or "bank")[:12])
    label = f'<text x="{x + TILE / 2}" y="{MARGIN / 2 + 16}" text-anchor="middle">{text}</text>'
    return f"<g><title>{escape(f'bank {column}: {name or chr(8212)}')}</title>{box}{label}</g>"


def _routes(physical: Physical, spec: FabricSpec) -> list[str]:
    edges = {edge.sink: edge.source for edge in physical.netlist.edges}
    colours = net_colours(list(set(edges.values())))
    drawn: set[Wire] = set()
    parts = []
    for sink, way in physical.routes.routes.items():
        source = edges[sink]
        if isinstance(physical.netlist.nodes[source.node], StreamIn):
            parts.append(_entry(physical.placement[source.node].column, colours[source]))
        for wire in way.wires:
            if wire not in drawn:
                drawn.add(wire)
                parts.append(_wire(wire, spec, colours[source], source))
    return parts


def _entry(column: int, colour: str) -> str:
    x, _ = _corner(0, column)
    middle = x + TILE / 2
    return f'<line x1="{middle}" y1="34" x2="{middle}" y2="{TOP}" stroke="{colour}" stroke-width="2"/>'


def _wire(wire: Wire, spec: FabricSpec, colour: str, source: Pin) -> str:
    """One registered track between two neighbouring tiles, offset by its track number and direction."""
    x, y = _corner(wire.row, wire.column)
    down, right = _STEP[wire.side]
    lane = 8 + (wire.track + 0.5) * (TILE - 16) / spec.tracks + (2 if wire.side in (Side.S, Side.W) else -2)
    if right:
        x1, y1 = x + (TILE if right > 0 else 0), y + lane
        x2, y2 = x1 + right * GAP, y1
    else:
        x1, y1 = x + lane, y + (TILE if down > 0 else 0)
        x2, y2 = x1, y1 + down * GAP
    dash = ' stroke-dasharray="3 2"' if wire.network is Network.BIT else ""
    line = (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="2.2"'
            f'{dash} marker-end="none"/>')
    head = f'<circle cx="{x2:.1f}" cy="{y2:.1f}" r="2.6" fill="{colour}"/>'
    return f"<g><title>{escape(f'{source} on {wire}')}</title>{line}{head}</g>"
