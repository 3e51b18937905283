"""The table of compile times by size, made from the committed results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.markdown import table
from benchmarks.results import read_results

__all__ = ["compile_growth_table"]


def compile_growth_table() -> str:
    """Processor seconds and memory of compiling by program, target and size, as Markdown."""
    results = read_results("compile_growth")
    programs = results["programs"]
    sizes = sorted({size for found in programs.values() for by_size in found.values() for size in by_size}, key=int)
    rows = [[name, target, *(_cell(size, by_size) for size in sizes), _growth(by_size)]
            for name, found in programs.items() for target, by_size in _in_order(found, results["options"])]
    text = ("What compiling takes as sizes grow (`python -m benchmarks.compile_growth`): processor seconds / MB of the "
            "process at its highest, the compiler itself included, for matrices and pictures of N by N; the last "
            "column is seconds at the largest size over those at the smallest.")
    return f"{text}\n\n{table(['program', 'target', *(f'N = {size}' for size in sizes), 'growth'], rows)}"


def _in_order(found: Mapping[str, Any], targets: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((target, found[target]) for target in targets if target in found)


def _cell(size: str, by_size: Mapping[str, dict[str, Any]]) -> str:
    """Seconds and memory, or that a size is refused, given up, or not begun because a smaller one was given up."""
    found = by_size.get(size)
    if found is None:
        return "not begun" if any("given up" in other for other in by_size.values()) else "-"
    if "given up" in found:
        return "given up"
    return "refused" if "refused" in found else f"{found['seconds']} / {found['MB']}"


def _growth(by_size: Mapping[str, dict[str, Any]]) -> str:
    """Seconds at the largest of all sizes over those at the smallest; nothing unless all were compiled."""
    seconds = [by_size[size]["seconds"] for size in sorted(by_size, key=int)
               if not {"refused", "given up"} & by_size[size].keys()]
    if len(seconds) < max(2, len(by_size)):
        return "-"
    return f"{seconds[-1] / seconds[0]:.1f}"
