"""The cells of an array and the wires between them as a picture."""

from __future__ import annotations

from compiler.bind.systolic.recurrence.mapping import ArrayMapping
from hw.systolic.recurrence.spec import Place

__all__ = ["draw_cells"]

_PITCH, _SIZE = 44, 28
_COLOURS = ("#cde", "#edc", "#dec", "#ecd", "#cec", "#ddc", "#ccd", "#eec")


def draw_cells(mapping: ArrayMapping) -> str:
    """SVG: a square per cell, coloured by what it does, and a line per pair of cells that a wire joins."""
    spec = mapping.spec
    low = [min(cell.place[k] for cell in spec.cells) for k in range(len(mapping.space))]
    high = [max(cell.place[k] for cell in spec.cells) for k in range(len(mapping.space))]

    def corner(place: Place) -> tuple[int, int]:
        x = place[-1] - low[-1]
        y = place[0] - low[0] if len(place) > 1 else 0
        return _PITCH * x + 8, _PITCH * y + 8

    pairs = {(spec.cells[w.source].place, spec.cells[w.sink].place) for w in spec.wires}
    half = _SIZE // 2
    shapes = []
    for ends in sorted(pairs):
        (x1, y1), (x2, y2) = map(corner, ends)
        shapes.append(f"<line x1='{x1 + half}' y1='{y1 + half}' x2='{x2 + half}' y2='{y2 + half}' stroke='#468'/>")
    for cell in spec.cells:
        x, y = corner(cell.place)
        shapes.append(f"<rect x='{x}' y='{y}' width='{_SIZE}' height='{_SIZE}' stroke='#246' "
                      f"fill='{_COLOURS[cell.kind % len(_COLOURS)]}'><title>{cell.place}</title></rect>")
    width = _PITCH * (high[-1] - low[-1] + 1) + 16
    height = _PITCH * (high[0] - low[0] + 1 if len(low) > 1 else 1) + 16
    return (f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}'>{''.join(shapes)}</svg>")
