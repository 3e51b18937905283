"""The table of recurrences on arrays, made from the committed results."""

from __future__ import annotations

from typing import Any

from benchmarks.markdown import table
from benchmarks.results import read_results

__all__ = ["recurrence_tables"]


def recurrence_tables() -> str:
    """All tables as Markdown."""
    results = read_results("systolic_lu")
    head = ["n", "cycles", "published", "ratio", "first word in to last word out", "by the model", "cells", "dividers",
            "words of queues"]
    rows = [[size, f["cycles"], f["published"], round(f["cycles"] / f["published"], 2),
             f["first word in to last word out"], f["of the model"], f["resources"]["cells"],
             f["resources"]["dividers"], f["resources"]["words of queues"]] for size, f in results["sizes"].items()]
    text = ("LU decomposition of 32-bit integers on a triangular array, from PolyBench's source as it stands "
            f"(`python -m benchmarks.systolic_lu`, {results['simulator']}): cycles from start to done, memory reads "
            "and writes included. Published: microseconds at 250 MHz, as cycles.")
    return "\n\n".join([text, table(head, rows), *_floats(results)])


def _floats(results: dict[str, Any]) -> list[str]:
    """The same in single precision, whose published figures these are."""
    kinds = results.get("floats", {})
    if not kinds:
        return []
    head = ["n", "published", *(f"{name}: {what}" for name in kinds for what in ("model", "ratio", "RTL"))]
    rows = [[size, f["published"], *(value for kind in kinds.values() for value in (
        kind["model"][size], round(kind["model"][size] / f["published"], 2),
        kind["sizes"].get(size, {}).get("cycles", "-")))] for size, f in results["sizes"].items()]
    latencies = "; ".join(f"{name}: sums {kind['latency']['add']}, products {kind['latency']['mul']}, quotients "
                          f"{kind['latency']['div']} cycles" for name, kind in kinds.items())
    text = f"The same in `float`, bit for bit the interpreter's results ({latencies}{_rates(kinds)}):"
    return [text, table(head, rows)]


def _rates(kinds: dict[str, Any]) -> str:
    """Clock rates of the operators, of those kinds for which all have been measured."""
    measured = read_results("float_operators")["operators"]
    found = []
    for name, kind in kinds.items():
        operators = [measured.get(f"{op} float32 {kind['latency'][op]}") for op in ("add", "mul", "div")]
        if all(operators):
            rates = ", ".join(f"{operator['mhz']}" for operator in operators if operator)
            found.append(f"; operators of {name} alone reach {rates} MHz")
    return "".join(found)
