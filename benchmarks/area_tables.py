"""Area and clock rates of `benchmarks.area` as tables, on the terminal and in docs/figures.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

from benchmarks.markdown import table

__all__ = ["area_table", "printed_area_table"]

_COLUMNS = {"LUT": "lut", "FF": "ff", "block RAM": "block_ram", "multipliers": "multipliers"}


def area_table(what: str, results: Mapping[str, Any]) -> str:
    """As Markdown; the first column, called `what`, has the names."""
    return table([what, *_COLUMNS, "MHz"], list(_rows(results)))


def printed_area_table(what: str, results: Mapping[str, Any]) -> Table:
    """For the terminal."""
    printed = Table(what, *_COLUMNS, "MHz")
    for row in _rows(results):
        printed.add_row(*row)
    return printed


def _rows(results: Mapping[str, Any]) -> Iterator[list[str]]:
    for name, figures in sorted(results.items()):
        yield [name, *(str(figures[key]) for key in _COLUMNS.values()), _mhz_text(figures)]


def _mhz_text(figures: Mapping[str, Any]) -> str:
    """MHz of one subject; an estimate says that it is one, the best of several placements of how many."""
    notes = ["placed, estimate"] if not figures.get("routed", True) else []
    notes += [f"best of {figures['seeds']} placements"] if "seeds" in figures else []
    return f"{figures['mhz']} ({', '.join(notes)})" if notes else f"{figures['mhz']}"
