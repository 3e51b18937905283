"""The table of programs beside other generators, made from the committed results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.markdown import table
from benchmarks.results import RESULTS, read_results

__all__ = ["peer_tables", "score", "verdict"]

_COSTS = {"µs": "us", "cycles x LUT": "cycles x lut"}


def score(row: Mapping[str, Any]) -> dict[str, Any]:
    """Microseconds and the product of cycles and LUTs of a row with area."""
    return {"us": round(row["cycles"] / row["mhz"], 2), "cycles x lut": row["cycles"] * row["lut"]}


def verdict(rows: Mapping[str, Mapping[str, Any]], cost: str) -> str:
    """Whether the best of our rows is ``ahead`` of the best peer in `cost`, or the row is ``LOST``, and by how much;
    ``-`` where a figure is missing."""
    best = [min((row[cost] for row in rows.values() if row["ours"] == ours and cost in row), default=None)
            for ours in (True, False)]
    own, other = best
    if own is None or other is None:
        return "-"
    return f"ahead, {other / own:.2f} times" if own <= other else f"LOST, {own / other:.2f} times"


def peer_tables() -> list[str]:
    """A table for all programs; nothing if nothing has been measured."""
    if not (RESULTS / "peers.json").exists():
        return []
    results = read_results("peers")
    head = ["program", "on", "cycles start to done", "LUT", "multipliers", "MHz", *_COSTS, "compile s"]
    rows = [line for name, found in results["programs"].items() for line in _lines(name, found)]
    text = ("Beside other open generators (`python -m benchmarks.peers`; extra `peers`: nngen, veriloggen), in the "
            f"same simulator with the same main memory ({results['memory']}, unless a row says another port), and in "
            f"the same plain flow: `synth_ecp5` and nextpnr with their defaults for an {results['device']}, in one "
            "harness. Where a peer's best row is better than our best one, the row is lost; a dash is what has not "
            "been measured.")
    return ["\n\n".join([text, table(head, rows), *_unplaced(results["programs"])])]


def _unplaced(programs: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[str]:
    """A sentence for each circuit that was not placed."""
    return [f"Not placed: {name}, {on}: {row['unplaced']}" for name, found in programs.items()
            for on, row in found.items() if "unplaced" in row]


def _lines(name: str, found: Mapping[str, Mapping[str, Any]]) -> list[list[Any]]:
    lines = [[name, on, row["cycles"], row.get("lut", "not placed" if "unplaced" in row else "-"),
              *(row.get(key, "-") for key in ("multipliers", "mhz", *_COSTS.values())), row["compile s"]]
             for on, row in found.items()]
    return [*lines, [name, "**ours beside the peer's best**", verdict(found, "cycles"), "", "", "",
                     *(verdict(found, key) for key in _COSTS.values()), ""]]
