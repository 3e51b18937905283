"""The table of SA-C's loops, from the committed results."""

from __future__ import annotations

from benchmarks.markdown import table
from benchmarks.results import read_results

__all__ = ["sac_table"]

_SHOWN = ("7.5", "7.6")


def sac_table() -> str:
    """Counts of loops after passes, beside those that are printed."""
    results = read_results("sac_loops")["tables"]
    rows = [[f"{number}, {name}", f["sweeps"], f["iterations"], f["printed iterations"], f["reads"], f["writes"],
             f["reads"] + f["writes"], sum(f["printed accesses"]), f["lower bound, one memory"],
             f["lower bound, two memories"]]
            for number in _SHOWN for name, f in results[number].items()]
    head = ["table, loop", "sweeps", "iterations", "published", "words read", "written", "together", "published",
            "least cycles, one memory", "two memories"]
    counted = sum(len(loops) for loops in results.values())
    text = (f"SA-C's loops after stripmining, fusion and carrying, for 198x300 pixels: counts on the graphs (a model; "
            f"`python -m benchmarks.sac_loops`) beside those of [Hammes 2000](references.md), of whose {counted} rows "
            "in tables 7.1 to 7.6 two tables are shown. The 41325 is a misprint there: the loop is the first one of "
            "table 7.5.")
    return f"{text}\n\n{table(head, rows)}"
