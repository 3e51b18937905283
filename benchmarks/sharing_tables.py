"""The table of shared units, from the committed results."""

from __future__ import annotations

from benchmarks.markdown import table
from benchmarks.results import read_results

__all__ = ["sharing_table"]

PUBLISHED = {"gaussian_pyramid": "16 / 6", "sr_cnn": "656 / 182"}
"""PEs before and after sharing, Liu 2023, table 7.6; sr_cnn with 8 x 8 products at a time, as ours without a size."""


def sharing_table() -> str:
    """Resources, latency and occupancy before and after sharing."""
    rows = []
    for name, figures in read_results("sharing")["cases"].items():
        apart, shared = figures["apart"], figures["shared"]
        pairs = [f"{apart[key]} / {shared[key]}" for key in ("PEs", "memory tiles", "cycles")]
        occupancy = f"{100 * apart['occupancy']:.0f} / {100 * shared['occupancy']:.0f} %"
        app = name.split(" ")[0].rstrip(",")
        simulators = dict.fromkeys(part.get("cycles from", figures["simulator"]) for part in (apart, shared))
        rows.append([name, figures["array"], *pairs, occupancy, " / ".join(simulators), PUBLISHED.get(app, "–")])
    head = ["statements that share units", "array", "PEs apart / shared", "memory tiles", "cycles", "occupancy",
            "cycles from", "PEs published"]
    text = ("Statements on one set of units, operands selected by memory tiles (`python -m benchmarks.sharing`). "
            "Occupancy: part of the cycles of all PEs that compute statements in which they do; *model*: predicted by "
            "the compiled and validated design, not simulated.")
    return f"{text}\n\n{table(head, rows)}"
