"""The tables of systolic arrays, from the committed results."""

from __future__ import annotations

from typing import Any

from benchmarks.area_tables import area_table
from benchmarks.markdown import table
from benchmarks.results import read_results

__all__ = ["systolic_tables"]


def systolic_tables() -> str:
    """Shares of the arrays' peak, ablation, models against synthesis."""
    results = read_results("systolic")
    floats = read_results("systolic_floats")
    return "\n\n".join([_shares(results["cases"]), _floats(floats["cases"]), _ablation(results["ablation"]),
                        _resources(read_results("systolic_resources")), _area(read_results("systolic_area"))])


def _shares(cases: dict[str, Any]) -> str:
    head = ["array (rows x columns x lanes)", "element bits", "sizes", "cycles", "ideal", "share of peak", "published",
            "model error", "share at published size (model)", "compile s", "Verilog s"]
    rows = []
    for name, f in cases.items():
        rows.append([name, f["element bits"], _sizes(f), f.get("cycles", "-"), f["ideal cycles"], f.get("share", "-"),
                     f["published share"] or "-", f.get("model error", "-"), f["share at published size, model"],
                     f["compile s"], f["Verilog s"]])
    text = ("Systolic arrays, from the start bit until the last result is in memory, loads and drain included, results "
            "compared with gcc's (`python -m benchmarks.systolic`). Arrays are as large as the published ones, "
            "problems smaller where simulation would take hours; the models chose the tiles. Published shares are of "
            "floating point, except those of MM 16x16 x 32 and MM 24x8 x 64.")
    return f"{text}\n\n{table(head, rows)}"


def _sizes(figures: dict[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in figures["sizes"].items())


def _floats(cases: dict[str, Any]) -> str:
    head = ["array (space loops, rows x columns x lanes)", "sizes", "memory port, bits", "multipliers",
            "cycles (model)", "share of peak", "published", "in RTL", "cycles in RTL", "model error"]
    rows = []
    for name, f in cases.items():
        rtl = f.get("RTL")
        small = f"{rtl['array']}, {_sizes(rtl)}" if rtl else "-"
        rows.append([name, _sizes(f), f["memory port, bits"], f["multipliers"], f["model"], f["share"],
                     f["published share"] or "-", small, *((rtl["cycles"], rtl["model error"]) if rtl else "--")])
    text = ("The same arrays in `float`, with sums in lanes, along space loops and over steps in the order that the "
            "design states (`python -m benchmarks.systolic_floats`), all six of a matrix product: cycles of the model "
            "from start to done, no step waits for an adder of 12 cycles. Small arrays of the same kinds in RTL give "
            "the stated results bit for bit, in the cycles of the model.")
    return f"{text}\n\n{table(head, rows)}"


def _ablation(steps: dict[str, Any]) -> str:
    keys = {"step": "", "memory port, bits": "bus bits", "cycles": "cycles", "times as fast": "speed-up",
            "share of peak": "share", "model error": "model error"}
    rows = [[name, *(f[key] for key in keys.values() if key)] for name, f in steps.items()]
    text = "Product of two 128 x 128 matrices of bytes on an 8 x 8 array, one optimisation after the other."
    return f"{text}\n\n{table([*keys], rows)}"


def _resources(results: dict[str, Any]) -> str:
    rows = []
    for group in ("training", "held out"):
        for row in results[group]:
            used, model, options = row["measured"], row["model"], row["options"]
            bits = row["macros"].get("FLOAT_BITS")
            name = f"{row['application']}{f' float{bits}' if bits else ''}"
            rows.append([f"{name} {options['space']} {options['array']}", group,
                         *(item for name in ("luts", "flip_flops")
                           for item in (used[name], model[name], f"{row['error'][name]:+.1%}")),
                         *(f"{used[name]} / {model[name]}" for name in ("multipliers", "block_ram"))])
    head = ["array", "design", "LUT", "model", "error", "FF", "model", "error", "multipliers / model",
            "block RAM / model"]
    text = ("The tuner's resource model against yosys, whole systems on ECP5 "
            "(`python -m benchmarks.systolic_resources`); it is fitted to the designs for training only, which are "
            "all of integers.")
    return f"{text}\n\n{table(head, rows)}"


def _area(arrays: dict[str, Any]) -> str:
    measured = {name: figures for name, figures in arrays.items() if isinstance(figures, dict)}
    text = ("Systolic arrays with their network to main memory, LFE5U-85F, speed grade 6, by nextpnr "
            "(`python -m benchmarks.systolic_area`).")
    return f"{text}\n\n{area_table('array', measured)}"
