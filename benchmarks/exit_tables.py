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
            "step is a comparison of a search, a number that a pass of the sort puts in its place, or a step of a "
            "point. *kmp_steps* is one loop of a comparison per step. In *kmp* and *naive_search* the loop is inside "
            "another one, and so it is in *mandelbrot*, where points are interleaved: on dataflow 4 (`interleave=4`), "
            "on fpga a row. A loop of 4 trips at most, as that of *kmp*, is over before it could be left.")
    return f"{text}\n\n{table(head, rows)}"
