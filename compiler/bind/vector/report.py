"""The report: one self-contained HTML page about a program on the vector processor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from compiler.bind.design import Run, prediction_rows
from compiler.bind.page import html_page, html_table, html_text
from compiler.bind.vector.cost import Interval, Timeline
from compiler.bind.vector.text import print_program

if TYPE_CHECKING:
    from compiler.bind.vector.design import VectorDesign

__all__ = ["html_report"]

_STYLE = """
.lanes { fill: #3c78b4; } .load { fill: #7bb27b; } .store { fill: #d59a52; }
"""

WIDTH, LABEL, HEIGHT = 1000, 70, 26
"""Pixels: width of the chart, of the names beside it, and height of a row."""


def html_report(design: VectorDesign, run: Run | None, equal: bool | None) -> str:
    """The page as text. `equal`: whether the simulated outputs equal the reference, None if nothing was simulated."""
    title = f"{design.code.name} on {design.spec.lanes} vector lanes"
    sections = [
        ("Result", html_table(_results(design, run, equal))),
        ("Choices", html_table(list(design.choices.items()))),
        ("Busy (model)", _chart(design)),
        ("Scratchpad", html_table([(s.name, f"{s.live_words} words live, {s.allocated_words} allocated")
                               for s in design.storage])),
        ("Vector program", html_text(print_program(design.code))),
        ("C program", html_text(design.c_code)),
    ]
    return html_page(title, sections, _STYLE)


def _results(design: VectorDesign, run: Run | None, equal: bool | None) -> list[tuple[str, str]]:
    rows = prediction_rows(design, run)
    if run:
        rows.append(("equal to the reference", "yes" if equal else "NO"))
    resources = [(k, f"{v:,}") for k, v in design.resources.items()]
    return [*rows, *resources, ("compile time", f"{design.compile_seconds:.2f} s")]


def _chart(design: VectorDesign) -> str:
    """When lanes and transfers are busy, by the cost model: a bar per pixel column and part, as high as its share."""
    timeline = Timeline(design.spec)
    timeline.log = []
    timeline.cold = True
    timeline.feed_program(design.code.body)
    log = timeline.intervals()
    total = max(timeline.now, 1.0)
    parts = ("lanes", "load", "store")
    rows = []
    for number, part in enumerate(parts):
        base = (number + 1) * HEIGHT
        rows.append(f'<text x="0" y="{base - 6}">{part}</text>')
        for column, share in enumerate(_shares([i for i in log if i.part == part], total)):
            if share > 0:
                height = max(1, round(share * (HEIGHT - 6)))
                rows.append(f'<rect class="{part}" x="{LABEL + column}" y="{base - height}" width="1" '
                            f'height="{height}"/>')
    size = len(parts) * HEIGHT + 20
    rows.append(f'<text x="{LABEL}" y="{size - 4}">0</text><text x="{LABEL + WIDTH}" y="{size - 4}" '
                f'text-anchor="end">{total:.0f} cycles</text>')
    return (f'<svg viewBox="0 0 {LABEL + WIDTH} {size}" width="{LABEL + WIDTH}" role="img" aria-label="busy parts" '
            f'font-family="sans-serif" font-size="12">{"".join(rows)}</svg>')


def _shares(intervals: Sequence[Interval], total: float) -> list[float]:
    """For every pixel column the share of its time in which the part is busy."""
    step = total / WIDTH
    shares = [0.0] * WIDTH
    for interval in intervals:
        first, last = int(interval.start / step), min(int(interval.end / step), WIDTH - 1)
        for column in range(first, last + 1):
            overlap = min(interval.end, (column + 1) * step) - max(interval.start, column * step)
            shares[column] += max(overlap, 0.0) / step
    return shares
