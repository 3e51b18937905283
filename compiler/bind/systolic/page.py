"""The report of an array: a picture of its elements and feeders, and a table."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.bind.page import html_page, html_table
from compiler.bind.systolic.plan import Plan
from hw.systolic.spec import EAST, SOUTH

__all__ = ["report_page"]

_CELL, _GAP = 36, 14
_SHOWN = 8
"""Rows and columns that are drawn; of larger arrays only the first ones."""


def report_page(plan: Plan, rows: Mapping[str, object]) -> str:
    """A self-contained HTML page with `rows` as its table."""
    sections = [("Elements", _picture(plan)), ("Result", html_table(rows.items(), numbers=False))]
    return html_page(f"{plan.kernel.program.name} as a systolic array", sections)


def _picture(plan: Plan) -> str:
    """Elements as squares, feeders at the edges as circles."""
    spec = plan.spec
    rows, columns = min(spec.rows, _SHOWN), min(spec.columns, _SHOWN)
    pitch = _CELL + _GAP
    shapes = [f"<rect x='{pitch * (c + 1)}' y='{pitch * (r + 1)}' width='{_CELL}' height='{_CELL}' fill='#cde' "
              "stroke='#246'/>" for r in range(rows) for c in range(columns)]
    shapes += [_feeder(0, pitch * (r + 1)) for r in range(rows)
               if any(operand.direction == EAST for operand in spec.operands)]
    shapes += [_feeder(pitch * (c + 1), 0) for c in range(columns)
               if any(operand.direction == SOUTH for operand in spec.operands)]
    width, height = pitch * (columns + 1) + _GAP, pitch * (rows + 1) + _GAP
    more = "" if (rows, columns) == (spec.rows, spec.columns) else f"<p>the first {rows}x{columns} of {spec.rows}x" \
        f"{spec.columns} elements</p>"
    return f"<svg width='{width}' height='{height}'>{''.join(shapes)}</svg>{more}"


def _feeder(x: int, y: int) -> str:
    half = _CELL // 2
    return f"<circle cx='{x + half}' cy='{y + half}' r='{half - 4}' fill='#edc' stroke='#642'/>"
