"""The table of storage, from the committed results."""

from __future__ import annotations

from benchmarks.markdown import table
from benchmarks.results import read_results

__all__ = ["storage_table"]

WORD = 16
"""Bits of a word."""


def storage_table() -> str:
    """Live bits, bits of circular regions, and bits of the memories that hold them."""
    rows = []
    for app, figures in read_results("storage")["stencils"].items():
        buffers = figures["buffers"].values()
        live = sum(b["words live"] for b in buffers)
        regions = sum(b["words of regions"] for b in buffers)
        worst = max(b["words of regions"] / b["words live"] for b in buffers)
        memories = figures["memories by words"]
        whole = sum(int(words) * count for words, count in memories.items())
        rows.append([app, figures["array"], len(buffers), WORD * live, WORD * regions, f"{regions / live:.2f}",
                     f"{worst:.2f}", ", ".join(f"{count} x {words}" for words, count in memories.items()), WORD * whole,
                     f"{whole / live:.2f}", figures["cycles"], figures["simulator"]])
    head = ["stencil", "array", "buffers", "bits live", "bits of regions", "ratio", "worst buffer", "memories x words",
            "bits of memories", "ratio", "cycles", "cycles from"]
    text = ("Storage of stencils on arrays with small wide-fetch memories (`depth` in a hardware description file): "
            "the most bits live at once by the schedule, the bits of the circular regions, and those of whole memories "
            "(`python -m benchmarks.storage`; each buffer in `benchmarks/results/storage.json`). Of the arrays for "
            "unsharp and camera_pipeline one column of memories is larger (`mem_depths`), for tables of 255 and 1024 "
            "words, which are not counted here.")
    return f"{text}\n\n{table(head, rows)}"
