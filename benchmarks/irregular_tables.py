"""The table of programs whose addresses depend on data, from the committed results."""

from __future__ import annotations

from typing import Any

from benchmarks.markdown import table
from benchmarks.results import RESULTS, read_results

__all__ = ["irregular_table"]

_COLUMNS = {"LUT": "lut", "FF": "ff", "block RAM": "block_ram", "LUT RAM": "lut_ram", "multipliers": "multipliers"}


def irregular_table() -> str:
    """Cycles, area and MHz, or nothing if nothing has been measured."""
    if not (RESULTS / "irregular.json").exists():
        return ""
    results = read_results("irregular")
    head = ["program, target", "cycles predicted", *_COLUMNS, "MHz", "placements",
            f"slowest path below {results['goal_mhz']:g} MHz"]
    text = ("Programs whose addresses, conditions or ends of loops depend on data (`apps/irregular`), each as hardware "
            f"of its own with DMA and registers on {results['device']}, routed by nextpnr: the fastest placement of so "
            "many, more than one where the first missed the goal (`python -m benchmarks.irregular`; flip-flops include "
            "those of the harness). Cycles are from start to done, *model*: at most, where they depend on data.")
    return f"{text}\n\n{table(head, [_row(name, figures) for name, figures in results['programs'].items()])}"


def _row(name: str, figures: dict[str, Any]) -> list[Any]:
    return [name, figures["cycles predicted"], *(figures[key] for key in _COLUMNS.values()),
            figures["mhz"], figures.get("seeds", 1), figures.get("critical", "-")]
