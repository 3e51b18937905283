"""The table of loops that data end, made from the committed results."""

from __future__ import annotations

from benchmarks.markdown import table
from benchmarks.results import read_results

__all__ = ["exit_table"]


def exit_table() -> str:
    """The table as Markdown."""
    head = ["program", "target", "data", "steps", "cycles simulated", "predicted", "between",
            "start to done", "cycles per step"]
    rows = [[name, target, kind, run["steps"], run["cycles simulated"], run["predicted"],
             f"{f['least']} and {f['most']}", run["start to done"], run["cycles per step"]]
            for name, targets in read_results("exits")["programs"].items() for target, f in targets.items()
            for kind, run in f["data"].items()]
    text = ("Loops whose trips depend on data: RTL simulation on Icarus (`python -m benchmarks.exits`). A "
            "step is a comparison of the search, or a number that a pass of the sort puts in its place. Only "
            "*kmp_steps*, one loop of a comparison per step, ends early; *kmp* makes all trips of its inner loop at "
            "every position.")
    return f"{text}\n\n{table(head, rows)}"
