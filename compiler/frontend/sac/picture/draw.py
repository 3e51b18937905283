"""Diagrams as files: SVG, PNG or PDF, as the suffix of the name says."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from compiler.frontend.sac.picture.layout import Diagram, Placed, place
from compiler.ir.types import ProgramError
from hw.files import write_atomic

__all__ = ["FORMATS", "draw"]

FORMATS = (".svg", ".png", ".pdf")
_COLOURS = {"loop": "#e8eef8", "generator": "#e3f3e6", "return": "#fdeeda", "switch": "#f4e8f6", "port": "#eeeeee",
            "node": "#ffffff"}
_INCH, _POINTS = 0.085, 6.4
"""Inches of a character's width, and the size of the text that is as wide."""
_MOST_INCHES = 600


def draw(path: Path, diagram: Diagram) -> None:
    """Write the picture. Raises `ProgramError` for another suffix and for graphs too large for a picture."""
    if path.suffix.lower() not in FORMATS:
        raise ProgramError(f"{path}: a picture of a graph ends in one of {', '.join(FORMATS)}")
    placed = place(diagram)
    if max(placed.width, placed.height * 0.8) * _INCH > _MOST_INCHES:
        raise ProgramError(f"{path}: this graph is too large for a picture; take its text, or fewer passes")
    write_atomic(path, _rendered(placed, path.suffix.lower()[1:]))


def _rendered(placed: Placed, kind: str) -> bytes:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(placed.width * _INCH + 0.2, placed.height * _INCH * 0.8 + 0.2))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(-1, placed.width + 1)
    axes.set_ylim(placed.height + 1, -1)
    axes.set_axis_off()
    _draw(axes, placed, 0.0, 0.0, 1)
    buffer = io.BytesIO()
    # Names in the file that do not change from run to run; text as text, which can be searched.
    with mpl.rc_context({"svg.hashsalt": "sac", "svg.fonttype": "none"}):
        figure.savefig(buffer, format=kind, dpi=110, metadata={"Date": None} if kind == "svg" else None)
    return buffer.getvalue()


def _draw(axes: Any, placed: Placed, left: float, top: float, level: int) -> None:
    """Boxes, wires above them, then what is inside."""
    for box, (x, y, width, height), parts in zip(placed.diagram.boxes, placed.rectangles, placed.inside, strict=True):
        _draw_box(axes, box.lines, _COLOURS[box.role], (left + x, top + y, width, height), level, bool(parts))
        for dx, dy, part in parts:
            _draw(axes, part, left + dx, top + dy, level + 3)
    for wire, path in zip(placed.diagram.wires, placed.paths, strict=True):
        xs, ys = [left + x for x, _ in path], [top + y for _, y in path]
        axes.plot(xs, ys, color="#b03030" if wire.back else "#5a6b8c", linewidth=0.7, zorder=level + 1,
                  solid_joinstyle="round")
        axes.plot(xs[-1:], [ys[-1] - 0.25], marker="v", markersize=3, color="#5a6b8c", zorder=level + 1)


def _draw_box(axes: Any, lines: tuple[str, ...], colour: str, rectangle: tuple[float, float, float, float], level: int,
              compound: bool) -> None:
    from matplotlib.patches import Rectangle

    x, y, width, height = rectangle
    axes.add_patch(Rectangle((x, y), width, height, facecolor=colour, edgecolor="#444444", linewidth=0.7,
                             zorder=level))
    for number, line in enumerate(lines):
        axes.text(x + (1 if compound else width / 2), y + 1.4 + 2.0 * number, line, fontsize=_POINTS,
                  family="monospace", ha="left" if compound else "center", va="center", zorder=level + 2,
                  weight="bold" if number == 0 else "normal")
