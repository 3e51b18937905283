"""The README's table of storage, from the committed results."""

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
        whole = figures["memories"] * figures["words per memory"]
        rows.append([app, figures["array"], len(buffers), WORD * live, WORD * regions, f"{regions / live:.2f}",
                     f"{worst:.2f}", f"{figures['memories']} x {figures['words per memory']}", WORD * whole,
                     f"{whole / live:.2f}", figures["cycles"], figures["simulator"]])
    head = ["stencil", "array", "buffers", "bits live", "bits of regions", "ratio", "worst buffer", "memories x words",
            "bits of memories", "ratio", "cycles", "cycles from"]
    text = ("Storage of stencils on arrays with small wide-fetch memories (`depth` in a hardware description file): "
            "the most bits live at once by the schedule, the bits of the circular regions, and those of whole memories "
            "(`python -m benchmarks.storage`; each buffer in `benchmarks/results/storage.json`). All memories of an "
            "array have one size, which the largest table must fit: 255 words in unsharp, 1024 in camera_pipeline.")
    return f"{text}\n\n{table(head, rows)}"
