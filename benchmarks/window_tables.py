"""The table of the window machine, from the committed results."""

from __future__ import annotations

from typing import Any

from benchmarks.markdown import table
from benchmarks.results import read_results

__all__ = ["sac_lanes_table", "window_table"]


def sac_lanes_table() -> str:
    """Cycles of SA-C's loops on fpga, in lanes, beside the fewest published ones."""
    results = read_results("sac_lanes")
    published = read_results("window_machine")["tables"]
    rows = [[name, f["lanes"], f["words read"], f["words written"], f["cycles"], f["predicted"],
             f"{f['cycles'] / max(f['words read'], f['words written']):.4f}",
             f"{f['cycles'] / (f['words read'] + f['words written']):.4f}", _fewest(published, f["table"]),
             *_lane_areas(results.get("area", {}).get(name))]
            for name, f in results["programs"].items()]
    head = ["program", "elements per cycle", "words read", "words written", "cycles, RTL", "predicted",
            "over the words of the busier direction", "over all words", "fewest published", "LUT, one element",
            "LUT, all", "MHz, one", "MHz, all"]
    text = ("SA-C's loops on fpga through a memory bus of 32 bits, whole programs without stripmining: cycles from "
            "start to done in RTL (`python -m benchmarks.sac_lanes`). Reads and writes have channels of their own, "
            "and main memory answers after 2 cycles; published cycles are those of one access per cycle (table 7.2: "
            "two), of whole programs or of their dearest loop.")
    return f"{text}\n\n{table(head, rows)}"


def _fewest(published: dict[str, Any], number: str) -> Any:
    return min((row["printed cycles"] for row in published.get(number, {}).values()), default="")


def _lane_areas(found: dict[str, Any] | None) -> list[Any]:
    if not found:
        return [""] * 4
    one, *more = found.values()
    other = more[0] if more else one
    return [one["lut"], other["lut"], one["mhz"], other["mhz"]]


def window_table() -> str:
    """Cycles in RTL beside those that are printed, row by row."""
    results = read_results("window_machine")
    areas = results.get("area", {})
    rows = [[f"{number}, {name}", *_counts(f), f["least cycles"], f["cycles"], f["printed cycles"],
             f"{f['printed cycles'] / f['cycles']:.2f}", f["printed FMAPs"], f["printed MHz"],
             *_area(areas.get(number, {}).get(name))]
            for number, found in sorted(results["tables"].items()) for name, f in found.items()]
    head = ["table, row", "iterations", "words read and written", "least cycles", "cycles, RTL", "published",
            "times fewer", "published FMAPs", "MHz", "LUT on ECP5", "MHz"]
    below = [f"{number} {name}" for number, found in sorted(results["tables"].items()) for name, f in found.items()
             if f["printed cycles"] < f["least cycles"]]
    text = ("The machine of [Hammes 2000](references.md) (`hw.window`) on its own programs, 198x300 pixels: cycles "
            "from start to done in RTL, arguments included (`python -m benchmarks.window_machine`), results equal to "
            "the interpreter's. Table 7.2 has two memories. FMAPs are 4-input LUTs of an XC4036 of 1996; carrying "
            "without padding starts the machine once for each stripe."
            f"{_impossible(below)}")
    return f"{text}\n\n{table(head, rows)}"


def _counts(figures: dict[str, Any]) -> list[str]:
    """Iterations and accesses, with those that are printed where they differ."""
    accesses = figures["reads"] + figures["writes"]
    printed = sum(figures["printed accesses"])
    counted = f"{accesses}" if printed == accesses else f"{accesses} (printed {printed})"
    return [str(figures["iterations"]), counted]


def _area(figures: dict[str, Any] | None) -> list[Any]:
    return [figures["lut"], figures["mhz"]] if figures else ["", ""]


def _impossible(rows: list[str]) -> str:
    """What is said of rows with fewer printed cycles than iterations."""
    if not rows:
        return ""
    return (f" Rows {', '.join(rows)} are printed with fewer cycles than their loops have iterations, which the thesis "
            "puts down to measurement.")
