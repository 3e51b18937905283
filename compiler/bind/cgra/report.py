"""The report: one self-contained HTML page about a compiled design, its schedule, its floor plan and its buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from compiler.bind.cgra.floor_plan import floor_plan
from compiler.bind.cgra.netlist import Pin
from compiler.bind.design import BufferStorage, Run, prediction_rows
from compiler.bind.page import html_page, html_table, html_text
from hw.designs.hardware import describe_array

if TYPE_CHECKING:
    from compiler.bind.cgra.design import CgraDesign

__all__ = ["html_report"]

_STYLE = """
.plan { overflow-x: auto; }
.bar { fill: #7aa6d6; } .live { fill: #3c78b4; } .allocated { fill: #d5e3f2; }
"""


@dataclass(frozen=True)
class Activity:
    """When a unit works in a run: first and last cycle, and in how many cycles."""

    name: str
    first: int
    last: int
    busy: int


def html_report(design: CgraDesign, run: Run | None, equal: bool | None) -> str:
    """The page as text. `equal`: whether the simulated outputs equal the reference, None if nothing was simulated."""
    title = f"{design.program.name} on a {design.spec} array"
    sections = [
        ("Result", html_table(_results(design, run, equal))),
        ("Choices", html_table(list(design.choices.items()))),
        ("Floor plan", f'<div class="plan">{floor_plan(design.physical, design.spec)}</div>'),
        ("Schedule", _time_chart(activities(design), design.predicted_cycles) + html_text(str(design.schedule))),
        ("Occupancy", _occupancy(design)),
        ("Buffers", _storage(design.storage) + html_text("\n\n".join(map(str, design.application.buffers)))),
        ("Hardware", html_text(describe_array(design.spec))),
        ("Compile time", html_table([(k, f"{v:.3f} s") for k, v in design.seconds.items()])),
    ]
    return html_page(title, sections, _STYLE)


def activities(design: CgraDesign) -> list[Activity]:
    """Streams, statements and memory ports in the order of their first cycle, over the whole run."""
    schedule, times = design.schedule, design.physical.retiming.times
    tiles = schedule.staged.tiles
    found = []
    for name, entry in schedule.statements.items():
        signal = design.application.results.get(name)
        if signal is None:  # a constant, which is part of what takes it
            continue
        shift = times.get(signal.pin, 0)
        busy = tiles
        for trips in entry.trips.values():
            busy *= trips
        last = (tiles - 1) * schedule.period + entry.last + shift
        found.append(Activity(name, entry.offset + shift, last, busy))
    for array, stream in design.application.streams_out.items():
        footprint = next(f for f in schedule.staged.outputs if f.array == array)
        entry, shift = schedule.statements[footprint.statement], times[Pin(stream, "in")]
        last = (tiles - 1) * schedule.period + entry.last + shift
        found.append(Activity(f"store_{array}", entry.offset + shift, last, footprint.words * tiles))
    return sorted(found, key=lambda a: a.first)


def _results(design: CgraDesign, run: Run | None, equal: bool | None) -> list[tuple[str, str]]:
    rows = prediction_rows(design, run)
    if run:
        rows.append(("equal to the reference", "yes" if equal else "NO"))
    rows.append(("path latency", f"{design.path_latency} cycles"))
    return [*rows, *((k, str(v)) for k, v in design.resources.items())]


def _time_chart(rows: Sequence[Activity], total: int) -> str:
    """Bars from first to last active cycle."""
    label, width, step = 230, 900, 22
    height = step * len(rows) + 30
    parts = [f'<svg viewBox="0 0 {label + width + 20} {height}" width="{label + width + 20}" role="img" '
             'aria-label="schedule" font-family="sans-serif" font-size="12">']
    for k, row in enumerate(rows):
        x, y = label + width * row.first / total, k * step
        length = max(1.0, width * (row.last + 1 - row.first) / total)
        tip = f"{row.name}: cycles {row.first} to {row.last}, {row.busy} of them active"
        parts.append(f'<g><title>{escape(tip)}</title><text x="0" y="{y + 15}">{escape(row.name[:32])}</text>'
                     f'<rect class="bar" x="{x:.1f}" y="{y + 3}" width="{length:.1f}" height="{step - 6}"/></g>')
    for k in range(5):
        x, cycle = label + width * k / 4, total * k // 4
        parts.append(f'<text x="{x}" y="{height - 8}" text-anchor="{"end" if k == 4 else "start"}">{cycle}</text>')
    return "\n".join([*parts, "</svg>"])


def _occupancy(design: CgraDesign) -> str:
    """Share of all cycles in which a unit does useful work."""
    rows = [(a.name, f"{a.busy / design.predicted_cycles:.1%}") for a in activities(design)]
    used, spec = design.resources, design.spec
    tiles = spec.rows * spec.columns
    share = (used["PEs"] + used["delay PEs"] + used["memory tiles"]) / tiles
    return html_table([*rows, (f"tiles in use, of {tiles}", f"{share:.1%}")])


def _storage(rows: Sequence[BufferStorage]) -> str:
    """Bars of live words on allocated words."""
    if not rows:
        return "<p>No buffer needs a memory tile.</p>"
    label, width, step = 300, 600, 24
    most = max(max(r.allocated_words, r.live_words) for r in rows)
    parts = [f'<svg viewBox="0 0 {label + width + 260} {step * len(rows)}" width="{label + width + 260}" role="img" '
             'aria-label="buffers" font-family="sans-serif" font-size="12">']
    for k, row in enumerate(rows):
        y = k * step
        tiles = ", ".join(row.units)
        parts.append(f'<text x="0" y="{y + 16}">{escape(row.name[:44])}</text>')
        for kind, words in (("allocated", row.allocated_words), ("live", row.live_words)):
            size = f'width="{width * words / most:.1f}" height="16"'
            parts.append(f'<rect class="{kind}" x="{label}" y="{y + 4}" {size}/>')
        words = f"{row.live_words} live, {row.allocated_words} allocated ({escape(tiles)})"
        parts.append(f'<text x="{label + width + 8}" y="{y + 16}">{words}</text>')
    return "\n".join([*parts, "</svg>"])
